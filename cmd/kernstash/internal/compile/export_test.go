package compile

// PTXASOptions are the options of ptxas, with and without an argument.
var PTXASOptions = struct{ Valued, Flags [][2]string }{ptxasOptions.valued, ptxasOptions.flags}
