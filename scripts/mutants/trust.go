package main

// trustMutants break signatures, and who may write: rules 7 and 8.
var trustMutants = []mutant{
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
}
