package main

// callsMutants break uploads and calls: rules 5 and 6.
var callsMutants = []mutant{
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
}
