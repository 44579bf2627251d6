package build

// Begin is how Main begins.
var Begin = begin
