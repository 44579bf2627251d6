// Package settings reads what an operator and a program have decided about the
// cache, and remembers who decided what.
//
// Each setting has one name in the environment (KERNSTASH_MAX_SIZE) and one
// everywhere else (max-size). Its value comes from the last of these that has
// one: the default, the file, the program, the environment, a flag. Only
// KERNSTASH_DISABLE=1 in the environment stands above all.
package settings
