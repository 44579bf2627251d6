//go:build nogpu

package main

// hasRuntimes says whether this command can reach a GPU runtime at all.
const hasRuntimes = false

// What reaches them is not linked.

var (
	doctorRuntimes  []doctorRuntime
	machineRuntimes []machineRuntime
)

func openBuilder(runtime string, _ buildOptions) (builder, string, error) {
	return nil, runtime, errNoRuntimes
}
