package build

// MainAfter is Main, which does its job late; Begin is how it begins.
var (
	MainAfter = main
	Begin     = begin
)
