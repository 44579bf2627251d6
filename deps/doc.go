// Package deps finds out what a build reads besides its device image, and
// whether that can be known.
//
// [ScanUnit] looks through a source, [flags.Scan] through its options, for
// what makes a build uncacheable. [Track] finds the header files that a source
// reads and the names that it looks for and does not find, and writes down in a
// [manifest.Manifest] what has to stay as it is. [FirstKey] is the name by
// which a manifest is found. Nothing here touches a cache directory.
//
// Below it: flags and manifest; internal/lexer and internal/names, on which flags,
// scan and macro stand; internal/scan, which goes through one source; internal/macro,
// which expands; internal/files, which looks at paths.
//
// All of it is conservative: it follows every branch of every condition and
// believes any definition of a macro, so it may find a header that the compiler
// skips, and never misses one that the compiler reads. Where that cannot be
// done it gives a [reason.Uncacheable]; the price of doubt is a build, never a stale
// binary.
package deps
