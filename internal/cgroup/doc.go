// Package cgroup says what the control groups of this process leave it: in containers,
// units of systemd and batch jobs. It reads Linux's version 1 and 2; elsewhere there are
// no limits.
package cgroup
