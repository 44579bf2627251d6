// Package inprocess is what our library sees to in the process of a program that knows
// nothing of it, whichever API the program is served at: whether it may be there at all
// ([MayStay]), what the process was started with ([StartEnvironment]), and that what it
// stores and counts is written along the way, since nothing of ours runs when the process
// ends ([Instance.WaitStored], [Keeper]).
//
// A request comes in at a [FrontEnd]. The host's thread drives it through the engine with a
// [Ticket]. What came of it the FrontEnd reports.
package inprocess
