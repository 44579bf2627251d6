// Package layering holds the tests of the house's rules: what imports what, how
// large packages and their cycles of files are, where runtimes are named. Its
// figures stand in docs/ARCHITECTURE.md.
package layering
