// Package build is the process that does one job of the spool: it reads the job, has the
// builder of its API do it, and says what became of it. Package worker starts such
// processes.
package build
