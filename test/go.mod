module github.com/kernstash/kernstash/test

go 1.26.0
