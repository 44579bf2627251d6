// Command applications runs programs that nobody changed under `kernstash run`
// and shows that they print the same, and how much sooner.
//
// Each application runs several times, each time as a process of its own with an
// empty home directory, with PoCL's kernel cache on and off:
//
//   - twice without the layer, as control: what differs between these two is not
//     the application's output, and the normaliser must have removed it
//   - once without the layer, with the kernel cache that PoCL filled before: what
//     the driver does by itself
//   - cold: under the layer, with an empty cache of kernstash
//   - warm: under the layer, after the worker is done; PoCL's cache directory is
//     empty again, so that it is not PoCL that answers
//
// All outputs must be equal, and the warm run must have compiled nothing. With
// PoCL's cache off there is nothing that the driver does by itself.
//
//	go run ./applications -bin ../bin/kernstash            all that are installed
//	go run ./applications -bin ../bin/kernstash clinfo     some
//	go run ./applications -write ../docs                   also docs/APPLICATIONS.md's table
//	go run ./applications -write ../docs -on=false hashcat these rows of it alone
//
// A row goes into the table when it is measured, so that a run that was ended can be
// taken up with the applications that are left. Where something is wrong, the reports,
// the row's cache, and what `kernstash worker status` and the others say of it are kept,
// and the reason of each program that was compiled is printed.
//
// What is not installed is said, and fails where -need names it.
package main
