package main

// objectsMutants break what objects are called and hold: rules 1 and 2.
var objectsMutants = []mutant{
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
}
