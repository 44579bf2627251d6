package main

// rules are those of a fleet's remotes, by their numbers.
var rules = []string{
	1:  "Names hold the tenant and the digest of the request, nothing of the machine",
	2:  "One entry is one object",
	3:  "One build in the fleet",
	4:  "What is not there yet is asked for again, soon",
	5:  "Uploads are in the background, bounded, and only who built uploads",
	6:  "Every call has a deadline, and what is dead is left alone",
	7:  "What counts is signed, and checked before it is used",
	8:  "Who may not write reads",
	9:  "Compressed, and nothing expands to more than it says",
	10: "Known keys come in one go",
	11: "Large values are not for Redis",
	12: "A full remote is a failed upload",
	13: "Values leave the machine without what is not needed",
	14: "Tenants are apart",
	15: "What happens is counted",
}

// mutants are in the order of the rules.
var mutants = []mutant{
	// 1
	{
		1, "the tenant is left out of the names of objects", "store/remote/remote.go",
		`func (s *Store) prefix() string { return layout + "/" + s.opt.Tenant + "/" }`,
		`func (s *Store) prefix() string { return layout + "/" }`,
		"", "TestNames",
	},
	{
		1, "the name of an object holds the host's name", "store/remote/remote.go",
		"	sum := k.Sum.String()\n	return s.prefix() + sum[:2] + \"/\" + sum",
		"	sum := k.Sum.String()\n	host, _ := hostname()\n	return s.prefix() + sum[:2] + \"/\" + sum + \"-\" + host\n}\n\nfunc hostname() (string, error) {\n	return \"pod-0\", nil",
		"", "TestNames",
	},
	{
		1, "the key of what is built without files holds the working directory", "internal/engine/recipe.go",
		"	if !flags.KeepPaths(words, false) {\n		rec.Options.Compile, rec.Options.Search = flags.SplitSearch(words)\n		return reason.Uncacheable{}, nil\n	}\n",
		"",
		".", "TestSourcesThatReadNothing",
	},
	{
		1, "leases of all tenants have one name", "store/remote/remote.go",
		`return "lease/" + s.opt.Tenant + "/" + k.Sum.String()`,
		`return "lease/" + k.Sum.String()`,
		"", "TestNames",
	},

	// 2
	{
		2, "code of one entry is taken for another's", "store/remote/payload.go",
		"	case h.Key != k:\n", "	case h.Key == key.Key{Sum: k.Device}:\n",
		"", "TestTrustedNonsense",
	},
	{
		2, "code is stored with another's recipe", "store/remote/payload.go",
		"	if e.Recipe.Key() != k {\n		return nil, errName\n	}\n", "",
		"", "TestTrustedNonsense",
	},
	{
		2, "what follows the recipe does not count", "store/remote/envelope.go",
		"	if rest.End() != nil {\n		return nil, format.ErrTruncated\n	}\n", "",
		"", "TestWhatIsSigned",
	},
	{
		2, "S3: who puts where something is replaces it", "store/s3/objects.go",
		`func absent(p *minio.PutObjectOptions) { p.SetMatchETagExcept("*") }`,
		`func absent(*minio.PutObjectOptions) {}`,
		"", "TestPutTogether",
	},
	{
		2, "Redis: an object is read half of one and half of the next", "store/redis/pieces.go",
		"!bytes.Equal(p.beginning, begun), ", "bytes.Equal(p.beginning, begun) && false, ",
		"", "TestReplacedWhileRead",
	},
	{
		2, "Redis: who puts where something is replaces it", "store/redis/redis.go",
		"	if !replace {\n		args.Mode = \"NX\"\n	}\n", "",
		"", "TestObjectsContract",
	},
	{
		2, "HTTP: who puts where something is replaces it", "store/http/http.go",
		"			case http.StatusOK:\n				return remote.ErrExists\n", "			case http.StatusOK:\n				return nil\n",
		"", "TestObjectsContract",
	},
	{
		2, "an answer that is of another key is taken", "store/tiered/far.go",
		"e == nil || e.Key != k || e.Artifact == nil", "e == nil || e.Artifact == nil",
		"", "TestLies",
	},
	{
		2, "an entry is put as the object that another came as", "store/remote/seal.go",
		" || o.key() != e.Key {", " {",
		"", "TestSealsTravel",
	},
	{
		2, "prefetch: an answer that is of another key is taken", "store/tiered/prefetch.go",
		" || e == nil || e.Key != k || ", " || e == nil || ",
		"", "TestPrefetchLies",
	},

	// 3
	{
		3, "who wins the lease does not look again: that it was absent is remembered", "store/tiered/lock.go",
		"	for _, t := range s.present() {\n		s.absent.forget(question{tier: t.index, sum: k.Sum})\n	}\n", "",
		"", "TestLooksAgain",
	},
	{
		3, "the lease ends before the upload", "store/tiered/lock.go",
		"		if !t.uploads.add(&task{do: func() { s.uploaded(k, h) }}) {\n", "		if t != nil {\n",
		"", "TestOneBuild",
	},
	{
		3, "a lease is renewed for as long as its holder lives", "store/remote/lease/lease.go",
		"	return min(2*cost, longestBuild)\n", "	return 1000 * time.Hour\n",
		"", "TestRenewals",
	},
	{
		3, "a lease of a build whose cost is not known is renewed for ever", "store/remote/lease/lease.go",
		"		return unknownBuild\n", "		return 1000 * time.Hour\n",
		"", "TestRenewals",
	},
	{
		3, "leases are not renewed", "store/remote/lease/lease.go",
		"		for _, h := range all {\n			several <- struct{}{}\n", "		for _, h := range all[:0] {\n			several <- struct{}{}\n",
		"", "TestRenewals",
	},
	{
		3, "those who wait for one that hangs give up at the same time", "store/tiered/lock.go",
		"return now.Add(bound + rand.N(bound/4+1))", "return now.Add(bound + rand.N(time.Duration(1)))",
		"", "TestWaitsEnd",
	},
	{
		3, "who waits does so for as long as the caller allows, whatever the build costs", "store/tiered/lock.go",
		"bound = min(bound, longestWait*4/5, end.Sub(now)*4/5)", "bound = end.Sub(now) * 4 / 5",
		"", "TestWaitsEnd",
	},
	{
		3, "nobody asks what the build that a lease is for took with the driver before", "store/tiered/lock.go",
		"s.lease(s.knowing(ctx, k), k, end)", "s.lease(ctx, k, end)",
		"", "TestCostIsKnown",
	},
	{
		3, "who waits does not look whether the entry is there", "store/tiered/lock.go",
		"		came, err := s.arrives(ctx, k)\n", "		came, err := false, error(nil)\n",
		"", "TestServedAtOnce",
	},
	{
		3, "Redis: a lease is released without its token", "store/redis/lease.go",
		"`if redis.call(\"GET\", KEYS[1]) == ARGV[1] then return redis.call(\"DEL\", KEYS[1]) else return 0 end`",
		"`return redis.call(\"DEL\", KEYS[1])`",
		"", "TestLease",
	},
	{
		3, "Redis: a lease is renewed without its token", "store/redis/lease.go",
		"`if redis.call(\"GET\", KEYS[1]) == ARGV[1] then return redis.call(\"PEXPIRE\", KEYS[1], ARGV[2]) else return 0 end`",
		"`return redis.call(\"PEXPIRE\", KEYS[1], ARGV[2])`",
		"", "TestLease",
	},
	{
		3, "Redis: leases do not run out", "store/redis/lease.go",
		`redis.SetArgs{Mode: "NX", TTL: max(ttl, time.Millisecond)}`, `redis.SetArgs{Mode: "NX"}`,
		"", "TestObjectsContract",
	},
	{
		3, "S3: the clock of this machine says when a lease runs out", "store/s3/lease.go",
		"		now, err2 := http.ParseTime(found.header.Get(\"Date\"))\n", "		now, err2 := time.Now(), error(nil)\n",
		"", "TestLeaseRunsOut",
	},
	{
		3, "S3: a lease that ran out is taken over without a look at who has it by now", "store/s3/lease.go",
		"err = l.write(ctx, ttl, matching(seen.etag))\n		switch {", "err = l.write(ctx, ttl, nil)\n		switch {",
		"", "TestLeaseRenewedMeanwhile",
	},
	{
		3, "a remote that asks to be called less often is built around", "store/tiered/lock.go",
		"	if errors.Is(err, store.ErrLocked) || errors.Is(err, store.ErrBusy) { // of which", "	if errors.Is(err, store.ErrLocked) { // of which",
		"", "TestRemoteIsBusy",
	},
	{
		3, "who is served after a wait uploads once more", "store/tiered/tiered.go",
		"	if res == store.Existing && !s.holdsLease(e.Key) {\n		return res, err // whoever stored it uploads it\n	}\n", "",
		"", "TestExistingIsNotUploaded",
	},

	// 4
	{
		4, "that something is absent is remembered for an hour", "store/tiered/tiered.go",
		"	defaultAbsentFor = 2 * time.Second\n", "	defaultAbsentFor = time.Hour\n",
		"", "TestAbsent",
	},
	{
		4, "that something is absent is not remembered", "store/tiered/absent.go",
		"	a.all[q] = now.Add(a.lasts)\n", "	_ = now\n",
		"", "TestAbsent",
	},
	{
		4, "a remote that failed is remembered as one that does not have it", "store/tiered/far.go",
		"miss.Reason == reason.MissAbsent && answered(err) {\n			s.absent.add(question{tier: t.index, sum: k.Sum})", "miss.Reason != 0 {\n			s.absent.add(question{tier: t.index, sum: k.Sum})",
		"", "TestAbsent",
	},
	{
		4, "what was absent is so still after a wait for it", "store/tiered/lock.go",
		"		s.absent.clear() // also where", "		// also where",
		"", "TestAbsentAfterWait",
	},
	{
		4, "what does not answer is taken for an answer that nothing is there", "store/tiered/far.go",
		"		case reason.MissRemote, reason.MissUnreadable, reason.MissTierOff:\n			return false\n", "		case reason.MissUnreadable, reason.MissTierOff:\n			return false\n",
		"", "TestFailsOnce",
	},
	{
		4, "what is absent is remembered without bound", "store/tiered/absent.go",
		"	if len(a.all) >= maxAbsent {\n		a.makeRoom(now)\n	}\n", "",
		"", "TestAbsentIsBounded",
	},

	// 5
	{
		5, "what waits to be uploaded is not bounded in number", "store/tiered/queue.go",
		"q.bytes > q.maxBytes || q.many > q.maxTasks", "q.bytes > q.maxBytes",
		"", "TestQueue",
	},
	{
		5, "what waits to be uploaded is not bounded in bytes", "store/tiered/queue.go",
		"q.bytes > q.maxBytes || q.many > q.maxTasks", "q.many > q.maxTasks",
		"", "TestQueue",
	},
	{
		5, "over the bound the newest is dropped", "store/tiered/queue.go",
		"		old := q.remove(func(old *task) bool { return old.drop != nil && old != t })\n", "		old := q.remove(func(old *task) bool { return old.drop != nil && old == t })\n",
		"", "TestQueue",
	},
	{
		5, "Close waits until all is uploaded", "store/tiered/tiered.go",
		"	deadline := time.Now().Add(s.o.CloseWait)\n	s.Flush(deadline)\n", "	s.Flush(time.Now().Add(10 * time.Hour))\n",
		"", "TestCloseIsBounded",
	},
	{
		5, "Close drops what waits at once", "store/tiered/tiered.go",
		"	deadline := time.Now().Add(s.o.CloseWait)\n	s.Flush(deadline)\n", "",
		"", "TestCloseUploads",
	},
	{
		5, "who found an entry uploads it", "store/tiered/far.go",
		"		if t.takes(e.Artifact.Size()) && s.absent.has(", "		if t.takes(e.Artifact.Size()) || s.absent.has(",
		"", "TestLimitsOfFar",
	},
	{
		5, "who found an entry uploads it to where it is from", "store/tiered/far.go",
		"	for _, t := range s.tiers[:from.index] {\n		if t.takes(e.Artifact.Size()) && s.absent.has(question{tier: t.index, sum: e.Key.Sum}) {\n", "	for _, t := range s.tiers {\n		if t.takes(e.Artifact.Size()) {\n",
		"", "TestOneBuildsForAll",
	},
	{
		5, "an upload delays who built", "store/tiered/queue.go",
		"		q.running = true\n		go q.run()\n	}\n	q.mu.Unlock()\n", "		q.running = true\n		q.mu.Unlock()\n		q.run()\n		q.mu.Lock()\n	}\n	q.mu.Unlock()\n",
		"", "TestQueue",
	},
	{
		5, "the worker uploads without bound", "worker/upload.go",
		"w.uploadable(e) && len(all) < uploadsAtOnce", "w.uploadable(e)",
		"", "TestUploads",
	},

	// 6
	{
		6, "a call has no deadline", "store/tiered/flow.go",
		"	f.timer = time.AfterFunc(b.limit, f.check)\n", "	f.timer = time.AfterFunc(1000*time.Hour, f.check)\n",
		"", "TestHangsOnce",
	},
	{
		6, "a call may take longer than the build", "store/tiered/far.go",
		"		return min(t.Timeout, cost/2)\n", "		return t.Timeout\n",
		"", "TestShortDeadlines",
	},
	{
		6, "a large object that comes is not waited for", "store/tiered/flow.go",
		"if left := f.deadline().Sub(now); left > 0 {", "if left := f.deadline().Sub(now); left > 1000*time.Hour {",
		"", "TestFlow",
	},
	{
		6, "what stalls is waited for", "store/tiered/flow.go",
		"idle.Before(until) {", "false && idle.Before(until) {",
		"", "TestFlow",
	},
	{
		6, "a remote is given up for what is too large for its line", "store/tiered/flow.go",
		"	if f.total > 0 && ", "	if false && ",
		"", "TestFlow",
	},
	{
		6, "what is too large for the line is waited for each time", "store/tiered/flow.go",
		"rate > 0 && float64", "false && float64",
		"", "TestSlowOnce",
	},
	{
		6, "a remote to which an upload hangs is not read", "store/tiered/far.go",
		"if b == &t.leases {", "if b != &t.reads {",
		"", "TestUploadsFlow",
	},
	{
		6, "HTTP: nobody is told that bytes come", "store/http/http.go",
		"store.Flowing(ctx, resp.Body, resp.ContentLength)", "resp.Body",
		"store/tiered", "TestFlowOfHTTP",
	},
	{
		6, "Redis: nobody is told that bytes come", "store/redis/redis.go",
		"if flow := store.FlowOf(ctx); flow != nil {", "if flow := store.FlowOf(ctx); flow != nil && false {",
		"store/tiered", "TestFlowOfRedis",
	},
	{
		6, "an upload of less than a MiB has no time", "store/tiered/tiered.go",
		"uploadPerKiB*time.Duration(size>>10)", "1024*uploadPerKiB*time.Duration(size>>20)",
		"", "TestUploadsHaveTime",
	},
	{
		6, "objects of any number are in memory", "store/remote/room.go",
		"r.used == held || r.used+n <= most", "true",
		"", "TestRoom",
	},
	{
		6, "nobody asks what the build took with the driver before", "store/tiered/far.go",
		"	ctx = s.knowing(ctx, k)\n", "",
		"", "TestCostIsKnown",
	},
	{
		6, "what the driver before took counts more than what is known", "store/tiered/far.go",
		"	if store.Cost(ctx) > 0 || !slices", "	if !slices",
		"", "TestCostIsKnown",
	},
	{
		6, "what another program took is the cost of this one", "store/disk/nearest.go",
		"s.at.Names(h.Key) == at {\n					cost", "s.at.Names(h.Key) != names {\n					cost",
		"", "TestCostNear",
	},
	{
		6, "of what builds took for other devices the least counts", "store/disk/nearest.go",
		"					cost = max(cost, h.Cost)\n", "					if cost == 0 || h.Cost < cost {\n						cost = h.Cost\n					}\n",
		"", "TestCostNear",
	},
	{
		6, "who calls waits for an engine that does not heed its context", "store/tiered/far.go",
		"	case <-ctx.Done():\n		return none, context.Cause(ctx)\n	}\n}\n\n// limit", "	case <-s.base.Done():\n		return none, context.Cause(ctx)\n	}\n}\n\n// limit",
		"", "TestHangsOnce",
	},
	{
		6, "the breaker never opens", "store/tiered/breaker.go",
		"	b.open, b.probing, b.lost = true, false, 0\n", "	b.probing, b.lost = false, 0\n",
		"", "TestHangsOnce",
	},
	{
		6, "the breaker never lets a call probe", "store/tiered/breaker.go",
		"	case b.probing || time.Now().Before(b.until):\n", "	case b.open:\n",
		"", "TestHangsOnce",
	},
	{
		6, "the breaker stays open after a call was answered", "store/tiered/breaker.go",
		"	b.open, b.probing, b.pause, b.lost = false, false, 0, 0\n", "	b.probing, b.pause, b.lost = false, 0, 0\n",
		"", "TestHangsOnce",
	},
	{
		6, "somebody waits for the probe", "store/tiered/far.go",
		"	case probe:\n		go func() {\n			if e, err := s.ask(context.Background(), t, k); err == nil {\n				s.backfill(t, e)\n			}\n		}()\n", "	case probe:\n		return s.ask(ctx, t, k)\n",
		"", "TestHangsOnce",
	},
	{
		6, "the breaker's pauses do not grow", "store/tiered/breaker.go",
		"	b.pause = min(max(2*b.pause, shortestBreak), longestBreak)\n", "	b.pause = shortestBreak\n",
		"", "TestBacksOff",
	},
	{
		6, "the breaker's pauses grow without end", "store/tiered/breaker.go",
		"	b.pause = min(max(2*b.pause, shortestBreak), longestBreak)\n", "	b.pause = max(2*b.pause, shortestBreak)\n",
		"", "TestBacksOff",
	},
	{
		6, "all machines ask a remote that failed again at one moment", "store/tiered/breaker.go",
		"	return d*3/4 + rand.N(d/2+1)\n", "	return d + rand.N(time.Duration(1))\n",
		"", "TestProbesAreApart",
	},
	{
		6, "Redis: calls are left to the client's own idea of contexts", "store/redis/redis.go",
		"	select {\n	case r := <-done:\n		return r.value, r.err\n	case <-ctx.Done():\n		return result{}.value, ctx.Err()\n	}\n", "	r := <-done\n	return r.value, r.err\n",
		"", "TestDeadlines",
	},
	{
		6, "Redis: the client does not heed deadlines", "store/redis/redis.go",
		"			ContextTimeoutEnabled: true,\n", "",
		"", "TestConnectionsEndWithTheirCalls",
	},
	{
		6, "Redis: calls are tried again", "store/redis/redis.go",
		"			MaxRetries:            -1,\n", "",
		"", "TestCallsAreMadeOnce",
	},
	{
		6, "S3: a call waits for its client", "store/s3/call.go",
		"	case err := <-c.failed:\n		return none, err\n	case <-ctx.Done():\n		return none, ctx.Err()\n	}\n}\n\n// transport", "	case err := <-c.failed:\n		return none, err\n	}\n}\n\n// transport",
		"", "TestDeadlines",
	},
	{
		6, "a lease that comes when nobody waits any more is kept", "store/tiered/lock.go",
		"		}, func(release func()) { release() })\n", "		}, nil)\n",
		"", "TestLateLease",
	},
	{
		6, "to release a lease may take for ever", "store/remote/lease/lease.go",
		"	h.over = true\n	ctx, cancel := context.WithTimeout(context.Background(), timeout)\n", "	h.over = true\n	ctx, cancel := context.WithCancel(context.Background())\n",
		"", "TestTrouble",
	},

	// 7
	{
		7, "no signature is asked for", "store/remote/envelope.go",
		"	if list.IsSet() {\n", "	if false {\n",
		"", "TestWhatIsSigned",
	},
	{
		7, "what is not signed counts where there is a list", "store/remote/envelope.go",
		"	if list.IsSet() {\n", "	if list.IsSet() && o.signer != nil {\n",
		"", "TestWhatIsSigned",
	},
	{
		7, "whoever signs is trusted", "store/remote/envelope.go",
		"	return list.Check(o.signer)\n", "	return nil\n",
		"", "TestWhatIsSigned",
	},
	{
		7, "that a trusted key is named is enough", "store/remote/envelope.go",
		"		if err := o.verify(); err != nil {\n			return err\n		}\n", "",
		"", "TestWhatIsSigned",
	},
	{
		7, "the payload is signed, and not the key", "store/remote/envelope.go",
		"	case o.kind != kind || !bytes.Equal(o.name, name):\n", "	case o.kind != kind:\n",
		"", "TestManifestsAreSigned",
	},
	{
		7, "a signature is good for other uses", "store/remote/envelope.go",
		"	return append(wire.AppendText(make([]byte, 0, 4+len(domain)+len(head)), domain), head...)\n", "	return append(make([]byte, 0, 4+len(domain)+len(head)), head...)\n",
		"", "TestWhatIsSigned",
	},
	{
		7, "the payload's digest is not checked", "store/remote/envelope.go",
		"	if sha256.Sum256(o.payload) != o.digest {\n		return format.ErrDigest\n	}\n", "",
		"", "TestEveryByteCounts",
	},
	{
		7, "a manifest is taken for an entry", "store/remote/envelope.go",
		"	case o.kind != kind || !bytes.Equal(o.name, name):\n", "	case !bytes.Equal(o.name, name) && o.kind == kind:\n",
		"", "TestWhatIsSigned",
	},
	{
		7, "it is decompressed before it is verified", "store/remote/remote.go",
		"	if err := o.check(s.opt.Tenant, kind, name, s.opt.Trust, limit); err != nil {\n", "	if _, err := o.decompress(s.z); err != nil {\n		return o, nil, err\n	}\n	if err := o.check(s.opt.Tenant, kind, name, s.opt.Trust, limit); err != nil {\n",
		"", "TestVerifiedBeforeDecompressed",
	},
	{
		7, "a revoked key is trusted", "trust/list.go",
		"	case s.revoked[by]:\n		return fmt.Errorf(\"%w: %s is revoked\", ErrUntrusted, Fingerprint(k))\n", "",
		"", "TestList",
	},
	{
		7, "a list that cannot be read is no list", "trust/list.go",
		"	return s.err != nil || len(s.trusted) > 0 || len(s.revoked) > 0\n", "	return len(s.trusted) > 0 || len(s.revoked) > 0\n",
		"", "TestList",
	},
	{
		7, "a list of revoked keys alone is no list", "trust/list.go",
		"	return s.err != nil || len(s.trusted) > 0 || len(s.revoked) > 0\n", "	return s.err != nil || len(s.trusted) > 0\n",
		"", "TestList",
	},
	{
		7, "a list in use is not read again", "trust/list.go",
		"age >= 0 && age < reloadEvery || !l.read.TryLock()", "age >= 0 || !l.read.TryLock()",
		"", "TestListIsReadAgain",
	},
	{
		7, "code that was damaged on disk is loaded", "internal/format/bin.go",
		"		if sumOf(a.Binaries[i].Data) != bin.Sum {\n			return nil, ErrDigest\n		}\n", "",
		"", "TestBinEveryByteIsChecked",
	},
	{
		7, "what is not signed replaces what is", "store/remote/put.go",
		"		return false, errSigned\n", "		return true, nil\n",
		"", "TestPutMeetsAnother",
	},
	{
		7, "what nobody trusts replaces what is signed", "store/remote/put.go",
		"	return err == nil && o.signer != nil && (!s.opt.Trust.IsSet() || s.opt.Trust.Check(o.signer) == nil)\n", "	return err == nil && o.signer != nil\n",
		"", "TestPutMeetsAnother",
	},
	{
		7, "manifests are not signed", "store/remote/blobs.go",
		"		if o, content, err = s.unseal(b, kindManifest, name[:]); err == nil {\n",
		"		if o, err = parse(b); err == nil {\n			content, err = o.decompress(s.z)\n		}\n		if err == nil {\n",
		"", "TestManifestsAreSigned",
	},
	{
		7, "a node cache hands out what came under a key that is revoked", "store/remote/seal.go",
		"	if err := o.checkSigner(s.opt.Trust); err != nil {\n		return err\n	}\n", "	if o.signer == nil {\n		return trust.ErrUntrusted\n	}\n",
		"", "TestVetForgets",
	},
	{
		7, "a node cache remembers whom to trust with the signature", "store/remote/seal.go",
		"	if err := o.checkSigner(s.opt.Trust); err != nil {\n		return err\n	}\n",
		"	if _, known := s.seals.of[sha256.Sum256(seal)]; !known {\n		if err := o.checkSigner(s.opt.Trust); err != nil {\n			return err\n		}\n	}\n",
		"", "TestVetForgets",
	},
	{
		7, "a node cache hands out what a trusted key is named for", "store/remote/seal.go",
		"	if err := s.seals.verify(o, seal); err != nil {\n		return err\n	}\n", "",
		"", "TestVet",
	},
	{
		7, "a signature is remembered, and not of what", "store/remote/seal.go",
		"	sum := sha256.Sum256(head)\n", "	sum := sha256.Sum256(head[:16])\n",
		"", "TestVet",
	},
	{
		7, "a signature that is wrong is remembered as right", "store/remote/seal.go",
		"	if err := o.verify(); err != nil {\n		return err\n	}\n	v.mu.Lock()\n",
		"	if err := o.verify(); err != nil {\n		v.mu.Lock()\n		defer v.mu.Unlock()\n		if v.of == nil {\n			v.of = make(map[[sha256.Size]byte]struct{})\n		}\n		v.of[sum] = struct{}{}\n		return err\n	}\n	v.mu.Lock()\n",
		"", "TestVet",
	},
	{
		7, "signatures are remembered without bound", "store/remote/seal.go",
		"	if v.of == nil || len(v.of) >= maxVerified {\n", "	if v.of == nil {\n",
		"", "TestVerifiedIsBounded",
	},
	{
		7, "a seal counts with code of another", "store/remote/seal.go",
		"	if !bytes.Equal(h.Sum(nil), o.content[:]) {\n		return fmt.Errorf(\"%w: something else was signed\", trust.ErrUntrusted)\n	}\n", "",
		"", "TestVet",
	},
	{
		7, "a seal counts for another entry, with its code", "store/remote/seal.go",
		"	case o.kind != kind || !bytes.Equal(o.name, name):\n		return fmt.Errorf(\"%w: %w\", trust.ErrUntrusted, errName)\n", "",
		"", "TestVet",
	},
	{
		7, "no seal is one", "store/remote/seal.go",
		"	if len(seal) == 0 {\n		return fmt.Errorf(\"%w: there is no signature\", trust.ErrUntrusted)\n	}\n", "	if len(seal) == 0 {\n		return nil\n	}\n",
		"", "TestVet",
	},
	{
		7, "a node cache does not ask before it hands out an entry", "store/disk/get.go",
		"	if err := s.vet(d, path, *k, f, info); err != nil {\n		return nil, err\n	}\n", "",
		"", "TestVet",
	},
	{
		7, "a node cache does not ask before it hands out an open file", "store/disk/open.go",
		"				err = s.vet(r.Dir, path, k, opened, info)\n", "				err = nil\n",
		"", "TestVet",
	},
	{
		7, "a node cache does not ask before it hands out a manifest", "store/disk/seal.go",
		"		err = s.vetted(s.o.Vetter.VetBlob(name, seal, content))\n	}\n	return content, info, err", "		_ = seal\n	}\n	return content, info, err",
		"", "TestVetManifests",
	},
	{
		7, "a node cache does not ask before it keeps an entry", "store/disk/put.go",
		"		err = w.vetEntry()\n", "		err = nil\n",
		"", "TestVet",
	},
	{
		7, "a node cache does not ask before it keeps a manifest", "store/disk/seal.go",
		"		if err := s.vetted(s.o.Vetter.VetBlob(name, seal, content)); err != nil {\n			return nil, fmt.Errorf(\"%w: %w\", store.ErrInvalid, err)\n		}\n", "",
		"", "TestVetManifests",
	},
	{
		7, "what may not be handed out stays in the place of what may", "store/disk/put.go",
		" && !errors.Is(w.s.vetFile(leaf, *found.Same, w.e.Key), rootdir.ErrUntrusted)\n", " && !errors.Is(nil, rootdir.ErrUntrusted)\n",
		"", "TestVet",
	},
	{
		7, "the agent's node cache asks nobody", "agent/agent.go",
		"			o.Vetter = signer\n", "			_ = signer\n",
		"", "TestSpoiledSeals",
	},
	{
		7, "an agent without remotes does not heed a tenant's list", "cmd/kernstash/internal/node/remotes.go",
		"len(c.Addresses) == 0 && t.Trust == \"\" {", "len(c.Addresses) == 0 {",
		"", "TestSigners",
	},
	{
		7, "what is handed over is signed with whatever code it has", "agent/requests.go",
		"format.VerifyBin(bin)", "format.DecodeBin(bin)",
		"", "TestHostileClients",
	},
	{
		7, "what is backfilled is signed anew", "store/tiered/far.go",
		"			s.upload(t, &near)\n", "			anew := near\n			anew.Seal = nil\n			s.upload(t, &anew)\n",
		"", "TestSealsAreKept",
	},
	{
		7, "what is found far is kept without its seal", "store/tiered/far.go",
		"	near.From = \"\"\n", "	near.From, near.Seal = \"\", nil\n",
		"", "TestSealsAreKept",
	},
	{
		7, "what came sealed is put signed anew", "store/remote/put.go",
		"	if e.Seal != nil {\n", "	if false {\n",
		"", "TestSealsTravel",
	},
	{
		7, "what came under a key that is not trusted is signed anew", "store/remote/seal.go",
		"	if err == nil && s.Asks() {\n		err = o.checkSigner(s.opt.Trust)\n	}\n	if err != nil {\n		return nil, fmt.Errorf(\"%w: the signature under which it came: %w\", store.ErrInvalid, err)\n",
		"	if err == nil && s.Asks() {\n		err = o.checkSigner(s.opt.Trust)\n	}\n	if err != nil {\n		return nil, nil\n",
		"", "TestSealsTravel",
	},
	{
		7, "what has a seal is sealed anew", "store/remote/seal.go",
		"	if s.err != nil || e.Seal != nil {\n", "	if s.err != nil {\n",
		"", "TestSeal",
	},
	{
		7, "a key that the list does not know signs what is handed over", "store/remote/seal.go",
		"	return !s.Asks() || s.opt.Trust.Check(s.opt.Sign.Public().(ed25519.PublicKey)) == nil\n", "	return true\n",
		"agent", "TestNoKeyToSignWith",
	},
	{
		7, "an agent that cannot sign takes what nobody may get", "agent/tenant.go",
		"	return t.Write && (t.signer == nil || !t.signer.Asks() || t.signer.Signs())\n", "	return t.Write\n",
		"", "TestNoKeyToSignWith",
	},
	{
		7, "a list of what an application uses counts without a signature", "store/remote/app.go",
		"		_, b, err = s.unseal(b, kindApp, sum[:])\n",
		"		of := *s\n		if o, _ := parse(b); o != nil && o.signer == nil {\n			of.opt.Trust = nil\n		}\n		_, b, err = of.unseal(b, kindApp, sum[:])\n",
		"", "TestApp",
	},
	{
		7, "the list of another application counts", "store/remote/app.go",
		"		_, b, err = s.unseal(b, kindApp, sum[:])\n",
		"		if o, _ := parse(b); o != nil && o.kind == kindApp {\n			copy(sum[:], o.name)\n		}\n		_, b, err = s.unseal(b, kindApp, sum[:])\n",
		"", "TestApp",
	},
	{
		7, "an entry counts because it stands in a pack", "store/remote/app.go",
		"			e, _, err := s.open(b, k, true)\n",
		"			var e *store.Entry\n			o, err := parse(b)\n			if err == nil {\n				if b, err = o.decompress(s.z); err == nil {\n					e, err = unpack(b, k, true)\n				}\n			}\n",
		"", "TestAppPack",
	},
	{
		7, "a manifest counts because it stands in a pack", "store/remote/app.go",
		"			content, seal, err := s.openManifest(b, m, nil)\n",
		"			var content, seal []byte\n			o, err := parse(b)\n			if err == nil {\n				content, err = o.decompress(s.z)\n			}\n",
		"", "TestAppPack",
	},
	{
		7, "an unsigned list replaces a signed one", "store/remote/app.go",
		"		return errSigned\n", "		return nil\n",
		"", "TestPutApp",
	},
	{
		7, "prefetch keeps entries without their seals", "store/tiered/prefetch.go",
		"		if _, err := p.s.Near.Put(p.ctx, e); err == nil {\n", "		e.Seal = nil\n		if _, err := p.s.Near.Put(p.ctx, e); err == nil {\n",
		"", "TestPrefetchKeepsSeals",
	},
	{
		7, "prefetch keeps manifests without their seals", "store/tiered/prefetch.go",
		"		if p.s.putNear(p.ctx, name, b, seal) == nil {\n", "		if p.s.putNear(p.ctx, name, b, nil) == nil {\n",
		"", "TestPrefetchKeepsSeals",
	},

	// 8
	{
		8, "leases of those who may not write are objects, which they may not put", "store/remote/remote.go",
		`return "lease/" + s.opt.Tenant + "/" + k.Sum.String()`, `return s.prefix() + "lease/" + k.Sum.String()`,
		"", "TestNames",
	},
	{
		8, "a remote that refuses writes is not read", "store/tiered/tiered.go",
		"		s.settle(s.base, t, &t.writes, err, limit)\n		if !errors.Is(err, store.ErrBusy)", "		s.settle(s.base, t, &t.reads, err, limit)\n		if !errors.Is(err, store.ErrBusy)",
		"", "TestRefusesWrites",
	},
	{
		8, "leases are taken by who cannot put what it builds", "store/tiered/lock.go",
		"!t.ReadOnly && t.reads.closed() && t.writes.closed()\n", "!t.ReadOnly && t.reads.closed()\n",
		"", "TestRefusesWrites",
	},
	{
		8, "leases are taken from a remote that is not written", "store/tiered/lock.go",
		"!t.ReadOnly && t.reads.closed() && t.writes.closed()\n", "t.reads.closed() && t.writes.closed()\n",
		"", "TestLimitsOfFar",
	},
	{
		8, "what may be read alone is put", "store/tiered/tiered.go",
		"{ return !t.ReadOnly && (t.MaxSize <= 0 || size <= t.MaxSize) }", "{ return t.MaxSize <= 0 || size <= t.MaxSize }",
		"", "TestLimitsOfFar",
	},
	{
		8, "who asks for signatures and cannot sign puts all the same", "cmd/kernstash/internal/remotes/remotes.go",
		"	readOnly := c.readOnly || c.Sign == nil && c.Trust.IsSet()\n", "	readOnly := c.readOnly\n",
		"", "TestFarSigns",
	},
	{
		8, "prefetch keeps what it fetches where nothing may be kept", "store/tiered/prefetch.go",
		"	if s.o.ReadOnly || !p.know(app) {\n", "	if !p.know(app) {\n",
		"", "TestPrefetch",
	},
	{
		8, "Redis: a refusal is not known as one", "store/redis/errors.go",
		"	case hasCode(err, \"NOPERM\", \"NOAUTH\", \"WRONGPASS\", \"READONLY\") ||", "	case hasCode(err, \"NOAUTH\", \"WRONGPASS\", \"READONLY\") ||",
		"", "TestReadOnlyUser",
	},

	// 9
	{
		9, "what an object expands to is not bounded by the store's limit", "store/remote/envelope.go",
		"	if o.decompressed > uint64(limit) {\n", "	if o.decompressed > 1<<62 {\n",
		"", "TestLimitOfSize",
	},
	{
		9, "the decoder makes more than the head says", "store/remote/remote.go",
		", zstd.WithDecodeAllCapLimit(true)", "",
		"", "TestObjectBombs",
	},
	{
		9, "less than the head says is taken", "store/remote/envelope.go",
		"	case uint64(len(b)) != o.decompressed:\n		return nil, format.ErrTruncated\n", "",
		"", "TestTrustedNonsense",
	},
	{
		9, "a pack of any size is read", "store/remote/app.go",
		"min(s.opt.MaxSize, MaxPack))\n	if err", "s.opt.MaxSize)\n	if err",
		"", "TestAppPack",
	},
	{
		9, "a pack of any size is put", "store/remote/app.go",
		"if len(pack)+kept+4+len(b) > limit {", "if len(pack)+kept+4+len(b) > 1000*limit {",
		"", "TestPutApp",
	},
	{
		9, "lists and manifests expand to as much as entries may", "store/remote/remote.go",
		"		limit = min(limit, maxManifest)\n", "		limit = max(limit, maxManifest)\n",
		"", "TestSmallBombs",
	},
	{
		9, "objects are not compressed", "store/remote/put.go",
		"s.enc.EncodeAll(content, nil)",
		"func(c []byte) []byte {\n" +
			"		z := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, byte(len(c)), byte(len(c) >> 8), byte(len(c) >> 16), byte(len(c) >> 24)}\n" +
			"		for {\n			n := min(len(c), 128<<10)\n			h := n << 3\n			if n == len(c) {\n				h |= 1\n			}\n" +
			"			z = append(append(z, byte(h), byte(h>>8), byte(h>>16)), c[:n]...)\n			if c = c[n:]; len(c) == 0 {\n				return z\n			}\n" +
			"		}\n	}(content)",
		"", "TestLimitOfSize",
	},

	// 10
	{
		10, "prefetch gets one by one", "store/tiered/prefetch.go",
		"		apps.GetApp(ctx, app, wanted, most, got, gotManifest)\n",
		"		for _, k := range wanted.Keys {\n			apps.GetApp(ctx, app, &store.App{Keys: []key.Key{k}}, most, got, gotManifest)\n		}\n" +
			"		apps.GetApp(ctx, app, &store.App{Manifests: wanted.Manifests}, most, got, gotManifest)\n",
		"", "TestPrefetch",
	},
	{
		10, "what is near is prefetched", "store/tiered/prefetch.go",
		"		if _, err := p.s.Near.GetFirst(p.ctx, k); err == nil {\n			p.Near++\n		} else {\n			p.keys[k] = true\n		}\n", "		p.keys[k] = true\n",
		"", "TestPrefetch",
	},
	{
		10, "engines that get one by one do so one after the other", "store/remote/many.go",
		"const inFlight = 32\n", "const inFlight = 1\n",
		"", "TestGetManyAtOnce",
	},
	{
		10, "Redis: MGET, which a cluster refuses across its nodes", "store/redis/redis.go",
		"	p := pipelined{names: names, replies: make([]*redis.StringCmd, len(names))}\n	pipe := o.client.Pipeline()\n", "	p := pipelined{names: names, replies: make([]*redis.StringCmd, len(names))}\n	pipe := o.client.TxPipeline()\n",
		"", "TestCluster",
	},
	{
		10, "a prefetch that hangs does so for ever", "store/tiered/prefetch.go",
		"	limit := prefetchTimeouts * t.Timeout\n", "	limit := 1000000 * t.Timeout\n",
		"", "TestPrefetch",
	},
	{
		10, "a pack is read where little of it is wanted", "store/tiered/prefetch.go",
		"2*len(wanted.Keys) > p.Listed", "len(wanted.Keys) > 0",
		"", "TestPrefetch",
	},
	{
		10, "no pack is read", "store/remote/app.go",
		"most && len(wanted.Keys)", "!most && len(wanted.Keys)",
		"", "TestAppPack",
	},
	{
		10, "what stands not whole in a pack is not got by itself", "store/remote/app.go",
		"			s.badPacked(s.miss(err))\n", "			got(k, nil, s.miss(err))\n			continue\n",
		"", "TestAppPack",
	},
	{
		10, "what the first remote does not have the next one is not asked for", "store/tiered/prefetch.go",
		"			p.from(t, apps, app)\n", "			p.from(t, apps, app)\n			break\n",
		"", "TestPrefetchFromSeveral",
	},
	{
		10, "a remote that does not answer for an entry makes a shorter list", "store/remote/app.go",
		"			case reasonOfMiss(o.err) == reason.MissRemote:\n				return put, fmt.Errorf(\"put the list of %q: %w\", app, o.err)\n", "",
		"", "TestPutApp",
	},
	{
		10, "each who asks an agent to prefetch has it fetch", "agent/tenant.go",
		"was && now.Sub(at) < prefetchPause || t.ahead", "was && now.Sub(at) < 0 || t.ahead",
		"", "TestPrefetch",
	},
	{
		10, "an agent prefetches for any number at one time", "agent/tenant.go",
		" || t.ahead >= maxPrefetches {", " {",
		"", "TestPrefetch",
	},
	{
		10, "an agent remembers without bound what it has prefetched", "agent/tenant.go",
		"	if t.prefetched == nil || len(t.prefetched) >= maxPrefetched {\n", "	if t.prefetched == nil {\n",
		"", "TestPrefetch",
	},

	// 11
	{
		11, "Redis takes objects of any size", "store/redis/redis.go",
		"	if int64(len(b)) > o.maxSize {\n		return fmt.Errorf(\"put %s: %d bytes: %w\", name, len(b), remote.ErrTooLarge)\n	}\n", "",
		"", "TestTooLargeIsRefused",
	},
	{
		11, "Redis: all of a large object is read, to find out that it is", "store/redis/redis.go",
		"return o.client.GetRange(ctx, toKey(name), 0, limit+1).Bytes() })", "return o.client.GetRange(ctx, toKey(name), 0, -1).Bytes() })",
		"", "TestTooLargeIsRefused",
	},
	{
		11, "Redis: all pieces of a large object are read, to find out that it is", "store/redis/pieces.go",
		"objectSize(p.size, b[0]) > limit:", "objectSize(p.size, b[0]) < 0:",
		"", "TestPieces",
	},
	{
		11, "a remote whose limit is less gets what is larger", "store/tiered/tiered.go",
		"{ return !t.ReadOnly && (t.MaxSize <= 0 || size <= t.MaxSize) }", "{ return !t.ReadOnly }",
		"", "TestLimitsOfFar",
	},
	{
		11, "what is too large for a remote is trouble of that remote", "store/remote/put.go",
		"		err = fmt.Errorf(\"%w: %w\", store.ErrTooLarge, err)\n", "		err = fmt.Errorf(\"too large: %w\", err)\n",
		"store/tiered", "TestTooLargeForOne",
	},

	// 12
	{
		12, "Redis: that it is full is an error like others", "store/redis/errors.go",
		"	case hasCode(err, \"OOM\"):\n", "	case hasCode(err, \"FULL\"):\n",
		"", "TestFull",
	},
	{
		12, "a remote that is full is not read any more", "store/tiered/tiered.go",
		"		s.settle(s.base, t, &t.writes, err, limit)\n		if !errors.Is(err, store.ErrBusy)", "		s.settle(s.base, t, &t.reads, err, limit)\n		if !errors.Is(err, store.ErrBusy)",
		"", "TestFullRedis",
	},
	{
		12, "Redis: objects stay for ever, whatever ttl says", "store/redis/redis.go",
		"	args := redis.SetArgs{TTL: o.ttl}\n", "	args := redis.SetArgs{}\n",
		"", "TestTTL",
	},
	{
		12, "S3: that there is no room is an error like others", "store/s3/call.go",
		"		return e.Status == http.StatusInsufficientStorage ||\n", "		return false &&\n",
		"", "TestAnswers",
	},

	// 13
	{
		13, "recipes leave with the places of headers", "store/remote/put.go",
		"	r, err := e.Recipe.WithoutPlaces()\n	if err != nil {\n		return nil, err\n	}\n", "	r, err := e.Recipe, error(nil)\n",
		"", "TestNothingOfTheMachineLeaves",
	},
	{
		13, "the options that are in no key leave", "key/recipe.go",
		"	own.Options.Search, own.Options.Unkeyed = nil, nil\n", "	own.Options.Search = nil\n",
		"", "TestWithoutPlaces",
	},
	{
		13, "contents of headers leave", "store/remote/blobs.go",
		"	case store.Headers:\n		return store.ErrNotKept\n", "	case store.Headers:\n		return nil\n",
		"", "TestRemoteStoreContract",
	},
	{
		13, "headers are uploaded", "store/tiered/blobs.go",
		"kind != store.Manifests || len(s.present()) == 0 || s.o.ReadOnly || ctx.Err() != nil {\n		return err\n	}\n	b, invalid := manifest.Portable(content, name)\n",
		"len(s.present()) == 0 || s.o.ReadOnly || ctx.Err() != nil {\n		return err\n	}\n" +
			"	b, invalid := manifest.Portable(content, name)\n	if kind == store.Headers {\n		b, invalid = content, nil\n	}\n",
		"", "TestManifests",
	},
	{
		13, "manifests leave with the stamps of this machine's files", "deps/manifest/manifest.go",
		"	m.Unstamp()\n", "",
		"store/tiered", "TestManifests",
	},
	{
		13, "prefetched manifests have the stamps of another machine's files", "store/tiered/prefetch.go",
		"		b, err := manifest.Portable(signed, name)\n", "		_, err = manifest.Portable(signed, name)\n		b := signed\n",
		"", "TestPrefetch",
	},
	{
		13, "an error of Redis shows the password", "store/redis/errors.go",
		"		text = strings.ReplaceAll(text, s, \"***\")\n", "		_ = s\n",
		"", "TestNoPasswordInErrors",
	},
	{
		13, "an error of HTTP shows the password", "store/http/errors.go",
		"	for _, s := range o.secrets {\n		text = strings.ReplaceAll(text, s, \"***\")\n	}\n", "",
		"", "TestNoPasswordInErrors",
	},
	{
		13, "an error of HTTP shows the token", "store/http/errors.go",
		"			text = strings.ReplaceAll(text, token, \"***\")\n", "			_ = token\n",
		"", "TestNoPasswordInErrors",
	},
	{
		13, "addresses are shown with their passwords", "internal/settings/remote.go",
		"	if i := strings.LastIndexByte(text, '@'); i >= 0 {\n		b.WriteString(masked)\n		text = text[i:]\n	}\n", "",
		"", "TestMaskRemote",
	},
	{
		13, "parameters that may be secret are shown", "internal/settings/remote.go",
		"			b.WriteString(name + \"=\" + masked)\n", "			b.WriteString(name + \"=\" + value)\n",
		"", "TestMaskRemote",
	},

	// 14
	{
		14, "an object of another tenant is taken", "store/remote/envelope.go",
		"	case o.tenant != tenant:\n		return errTenant\n", "",
		"", "TestWhatIsSigned",
	},
	{
		14, "the tenant is not signed", "store/remote/envelope.go",
		"func message(head []byte) []byte {\n", "func message(head []byte) []byte {\n	if len(head) > 20 { // the tenant's length\n		head = append(append([]byte{}, head[:16]...), head[min(len(head), 20+int(binary.LittleEndian.Uint32(head[16:]))):]...)\n	}\n",
		"", "TestWhatIsSigned",
	},
	{
		14, "a seal of another tenant counts in a node cache", "store/remote/seal.go",
		"	case o.tenant != s.opt.Tenant:\n		return fmt.Errorf(\"%w: %w\", trust.ErrUntrusted, errTenant)\n", "",
		"", "TestVet",
	},
	{
		14, "what came as an object of another tenant is put as that", "store/remote/seal.go",
		" || o.tenant != s.opt.Tenant || o.key()", " || o.key()",
		"", "TestSealsTravel",
	},
	{
		14, "what an application of another tenant uses counts", "store/remote/app.go",
		"		_, b, err = s.unseal(b, kindApp, sum[:])\n",
		"		o, _ := parse(b)\n		of := *s\n		if o != nil {\n			of.opt.Tenant = o.tenant\n		}\n		_, b, err = of.unseal(b, kindApp, sum[:])\n",
		"", "TestApp",
	},
	{
		14, "lists of all tenants have one name", "store/remote/app.go",
		"return s.prefix() + \"a/\" +", "return layout + \"/a/\" +",
		"", "TestNames",
	},
	{
		14, "packs of all tenants have one name", "store/remote/app.go",
		"return s.prefix() + \"p/\" +", "return layout + \"/p/\" +",
		"", "TestNames",
	},
	{
		14, "the agent takes everybody for the first tenant", "agent/agent.go",
		"		if t.Anyone && p.uid != 0 || ", "		if true || t.Anyone && p.uid != 0 || ",
		"", "TestTwoUsers",
	},
	{
		14, "tenants of an agent share a node cache", "agent/agent.go",
		"	dir := filepath.Join(s.o.Dir, of.Name)\n", "	dir := filepath.Join(s.o.Dir, \"all\")\n",
		"", "TestTwoUsers",
	},
	{
		14, "a tenant of an agent that may read alone writes", "agent/tenant.go",
		"	return t.Write && (", "	return (",
		"", "TestTwoUsers",
	},
	{
		14, "an agent asks remotes as one tenant for all", "cmd/kernstash/internal/node/remotes.go",
		"Addresses: s.Remote, Tenant: t.Name,", "Addresses: s.Remote, Tenant: s.Tenant,",
		"", "TestRemotesOfTenants",
	},
	{
		14, "an agent believes the keys of one tenant for all", "cmd/kernstash/internal/node/remotes.go",
		"		c.Trust = trust.Open(t.Trust, true)\n", "		_ = trust.Open(t.Trust, true)\n",
		"", "TestRemotesOfTenants",
	},
	{
		14, "the tenant of the setting is that of an agent's tenant called default", "cmd/kernstash/internal/node/remotes.go",
		"	if a.alone { //", "	if true { //",
		"", "TestTenantOfTheSetting",
	},
	{
		14, "gc removes other tenants' objects of other versions", "cmd/kernstash/internal/remotes/gc.go",
		"tenant != c.Tenant || layout == c.layout()", "tenant == \"\" || layout == c.layout()",
		"", "TestGCSelects",
	},

	// 15
	{
		15, "hits are not counted", "store/tiered/far.go",
		"	s.count(stats.RemoteHits)\n	s.o.Recorder.Add(stats.RemoteSavedTime", "	s.o.Recorder.Add(stats.RemoteSavedTime",
		"", "TestOneBuildsForAll",
	},
	{
		15, "the time that was saved is not counted", "store/tiered/far.go",
		"	s.o.Recorder.Add(stats.RemoteSavedTime, int64(e.Artifact.Cost-time.Since(begin)))\n", "	_ = begin\n",
		"", "TestSavedTime",
	},
	{
		15, "misses are not counted", "store/tiered/far.go",
		"	s.count(stats.RemoteMisses)\n	return nil, missed(near, f.why, f.cause)\n", "	return nil, missed(near, f.why, f.cause)\n",
		"", "TestWrongObjects",
	},
	{
		15, "a call that was late is an error like others", "store/tiered/far.go",
		"		s.count(stats.RemoteTimeouts)\n		opened", "		s.count(stats.RemoteErrors)\n		opened",
		"", "TestHangsOnce",
	},
	{
		15, "errors of a remote are not counted", "store/tiered/far.go",
		"	default:\n		s.count(stats.RemoteErrors)\n", "	default:\n",
		"", "TestFailsOnce",
	},
	{
		15, "that a breaker opens is not counted", "store/tiered/far.go",
		"		s.count(stats.RemoteBreaks)\n", "",
		"", "TestHangsOnce",
	},
	{
		15, "calls that are not made are not counted", "store/tiered/far.go",
		"		s.o.Recorder.Add(stats.RemoteSkipped, skipped)\n", "",
		"", "TestHangsOnce",
	},
	{
		15, "leases that are won are not counted", "store/tiered/lock.go",
		"	s.count(stats.LeasesWon)\n", "",
		"", "TestRefusesWrites",
	},
	{
		15, "waits for leases are not counted", "store/tiered/lock.go",
		"		s.count(stats.LeasesWaited)\n", "",
		"", "TestOneBuild",
	},
	{
		15, "waits that are given up are not counted", "store/tiered/lock.go",
		"		s.count(stats.LeasesGivenUp)\n", "",
		"", "TestWaitsEnd",
	},
	{
		15, "uploads that are dropped are not counted", "store/tiered/tiered.go",
		"	}, drop: func() { s.count(stats.RemotePutsDropped) }})\n	if !added {", "	}, drop: func() {}})\n	if !added {",
		"", "TestQueue",
	},
	{
		15, "bytes that are read are not counted", "store/remote/remote.go",
		"	s.opt.Recorder.Add(stats.RemoteBytesRead, int64(len(b)))\n	return b, err\n", "	return b, err\n",
		"", "TestCountsOfARemote",
	},
	{
		15, "bytes that are written are not counted", "store/remote/put.go",
		"		s.opt.Recorder.Add(stats.RemoteBytesWritten, int64(written))\n", "		_ = written\n",
		"", "TestCountsOfARemote",
	},
	{
		15, "what is not trusted is a miss like others", "store/remote/remote.go",
		"	{trust.ErrUntrusted, reason.MissUntrusted},\n", "	{trust.ErrUntrusted, reason.MissForeign},\n",
		"", "TestWhatIsSigned",
	},
	{
		15, "what is not trusted is not counted where nobody asks for it", "store/tiered/prefetch.go",
		"		s.count(stats.Of(reason.MissUntrusted))\n", "",
		"", "TestPrefetchUntrusted",
	},
	{
		15, "what nobody has signed in a pack is not counted", "store/remote/app.go",
		"		s.opt.Recorder.Add(stats.Of(reason.MissUntrusted), 1)\n", "		s.opt.Recorder.Add(stats.Of(reason.MissUntrusted), 0)\n",
		"", "TestAppPack",
	},
	{
		15, "what a node cache does not hand out is not counted", "agent/requests.go",
		"			x.t.untrusted.Add(1) //", "			//",
		"", "TestRevokedInTheNodeCache",
	},
	{
		15, "nobody is told of what is not trusted", "store/remote/remote.go",
		"		s.warn(\"what a remote holds is not trusted\", kind, name, err)\n", "",
		"", "TestUntrustedIsWarnedOfOnce",
	},
}
