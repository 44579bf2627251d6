// Package build does a job of the spool in this process, which exists for that
// job alone: it finds the device, works out the recipe's key from what it sees
// here, builds if that is the key of the job, and stores. Package worker starts
// such processes.
package build
