// Package key decides what makes two builds the same.
//
// A [Recipe] is everything that a build needs: the [Device] with its driver
// and compiler, the device [Image] with its headers, the specialization
// [Constants] and the [BuildOptions] with the attributes that a front end adds.
// A [Key] is made of it: one SHA-256 for each of these four components, and one
// over the schema version and the four.
//
// Two recipes have the same key only if every component is the same. The
// components are encoded canonically (typed, length-prefixed, in a fixed
// order; see docs/FORMAT.md), and the encoding can be read back: what can be
// decoded without doubt cannot be confused with something else.
//
// Nothing that belongs to one process or one machine enters a key: no handle,
// ordinal, process id, host name, time or absolute path. The same request on
// another machine with the same device and software has the same key.
//
// Values of this package are immutable once made and safe for concurrent use.
package key
