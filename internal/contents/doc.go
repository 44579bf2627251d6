// Package contents tells what large files hold that change rarely: compilers, and what they
// read. A digest is kept under the file's stamp, in the process and in a table that
// processes share, so that a process does not read a hundred megabytes to say what it
// compiles with.
package contents
