package main

// leasesMutants break one build in the fleet: rules 3 and 4.
var leasesMutants = []mutant{
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
		"		ctx = s.knowing(ctx, want)\n", "",
		"", "TestCostIsKnown",
	},
	{
		3, "who waits does not look whether the entry is there", "store/tiered/lock.go",
		"			came, err := s.arrives(ctx, want)\n", "			came, err := false, error(nil)\n",
		"", "TestServedAtOnce",
	},
	{
		3, "who gave up on one that hangs does not look for what another builds", "store/tiered/lock.go",
		"s.arrives(ctx, want)", "s.arrives(ctx, k)",
		"", "TestServedInTheQueue",
	},
	{
		3, "who waits for a lock without an entry looks at it as seldom as others", "store/tiered/lock.go",
		"n%leaseEvery == 0 || want.IsZero()", "n%leaseEvery == 0",
		"", "TestLockWithoutAnEntry",
	},
	{
		3, "one late answer among a crowd that waits is the end of the remote", "store/tiered/far.go",
		"			most *= 2\n", "			most *= 1\n",
		"", "TestLateWhileWaiting",
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
}
