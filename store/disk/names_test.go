package disk

// What docs/FORMAT.md says.
const (
	accountFile  = "account"
	statsFile    = "stats"
	cacheTagFile = "CACHEDIR.TAG"
	versionFile  = "VERSION"
	binSuffix    = ".bin"
	srcSuffix    = ".src"
	block        = 4096 // bytes: the unit of the account
)
