package build

// MainAfter is Main, which does its job late.
var MainAfter = main
