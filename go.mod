module github.com/kernstash/kernstash

go 1.26
