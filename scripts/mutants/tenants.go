package main

// tenantsMutants break what leaves the machine, tenants, and what is counted: rules 13 to 15.
var tenantsMutants = []mutant{
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
		"		s.count(stats.RemoteTimeouts)\n		most", "		s.count(stats.RemoteErrors)\n		most",
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
