package main

import "slices"

// rules are those of a fleet's remotes, by their numbers.
var rules = []string{
	1:  "Names hold the tenant and the digest of the request, nothing of the machine",
	2:  "One entry is one object",
	3:  "One build in the fleet",
	4:  "What is not there yet is asked for again, soon",
	5:  "Uploads are in the background, bounded, and only who built uploads",
	6:  "Every call has a deadline, and what is dead is left alone",
	7:  "What counts is signed, and checked before it is used",
	8:  "Who may not write reads",
	9:  "Compressed, and nothing expands to more than it says",
	10: "Known keys come in one go",
	11: "Large values are not for Redis",
	12: "A full remote is a failed upload",
	13: "Values leave the machine without what is not needed",
	14: "Tenants are apart",
	15: "What happens is counted",
}

// mutants are in the order of the rules.
var mutants = slices.Concat(objectsMutants, leasesMutants, callsMutants, trustMutants, valuesMutants, tenantsMutants)
