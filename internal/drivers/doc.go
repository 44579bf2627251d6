// Package drivers knows what the drivers of GPUs have in common whichever API they
// are asked through: which libraries compile for them, and which environment
// variables they obey while they do.
package drivers
