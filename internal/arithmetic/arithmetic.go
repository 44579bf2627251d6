// Package arithmetic tells in which mode the processor computes.
package arithmetic

// Default reports whether the thread rounds to nearest and keeps denormals, as a thread
// does from its start. Compilers that run in it fold constants so; what they make in
// another mode is another program.
func Default() bool { return isDefault() }
