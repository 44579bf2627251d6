// Package inprocess is what our library sees to when it is a guest in the process of a
// program that knows nothing of it, whichever API the program is served at: whether it may
// be there at all ([MayStay]), what the process was started with ([StartEnvironment]), and
// that what it stores and counts is written along the way, since nothing of ours runs when
// the process ends ([Guest.Linger], [Keeper]).
//
// A request comes in at a [Door]. The host's thread drives it through the engine with a
// [Drive]. What came of it the Door reports.
package inprocess
