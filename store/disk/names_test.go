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

// Files are looked at before they are read from these sizes on.
const (
	restLeast = 128 << 10 // for what can be left unread
	atOnce    = 1 << 20   // for what may be no more than a hole
)
