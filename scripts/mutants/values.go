package main

// valuesMutants break sizes of values, and many at once: rules 9 to 12.
var valuesMutants = []mutant{
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
		"		if _, err := p.s.Near.GetFirst(p.ctx, k, new(store.Buffer)); err == nil {\n			p.Near++\n		} else {\n			p.keys[k] = true\n		}\n", "		p.keys[k] = true\n",
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
}
