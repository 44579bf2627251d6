// Package guest is what our library sees to when it is a guest in the process of a
// program that knows nothing of it: whether it may be there at all, what the process
// was started with, and that what it counted is written along the way, since nothing
// of ours runs when the process ends.
package guest
