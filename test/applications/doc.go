// Command applications runs programs that nobody changed under `kernstash run`
// and shows that they print the same, and how much sooner.
//
// Each application runs as its user runs it, with its own settings and its own caches where they
// are by default, several times:
//
//   - without the layer, in an empty home, and again in that home: what the application and its
//     driver do by themselves. Once more in another empty home, as control: what differs then is
//     not the application's output, and the normaliser must have removed it
//   - under the layer, in an empty home, and again in that home, after the worker is done
//   - under the layer, in a home of which nothing but kernstash's cache is left: so it is for
//     another user, or in a new container. All own caches are empty, the driver's too
//
// All outputs must be equal to those without the layer, and no start but the first may have
// compiled anything that is cacheable.
//
//	go run ./applications -bin ../bin/kernstash            all that are installed
//	go run ./applications -bin ../bin/kernstash clinfo     some
//	go run ./applications -write ../docs                   also docs/APPLICATIONS.md's table
//	go run ./applications -set POCL_KERNEL_CACHE=0         with a variable: rows of their own
//
// A row goes into the table when it is measured, so that a run that was ended can be
// taken up with the applications that are left. Where something is wrong, the reports,
// the row's home, and what `kernstash worker status` and the others say of it are kept,
// and the reason of each program that was compiled is printed.
//
// What is not installed is said, and fails where -need names it.
package main
