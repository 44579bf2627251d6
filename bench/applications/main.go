// Command applications draws the plot of README from the table of docs/APPLICATIONS.md, which
// `make applications` measures and writes. It measures nothing.
//
//	go run ./applications ../docs    write applications.svg there
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/bench/internal/chart"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: applications DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "applications:", err)
		os.Exit(1)
	}
}

func write(docs string) error {
	text, err := os.ReadFile(filepath.Join(docs, "APPLICATIONS.md"))
	if err != nil {
		return err
	}
	svg, err := plot(string(text))
	if err != nil {
		return fmt.Errorf("draw APPLICATIONS.md: %w", err)
	}
	return os.WriteFile(filepath.Join(docs, "applications.svg"), []byte(svg), 0o644)
}

// shown are the rows that are drawn: applications with their own settings, each with the way it is
// started. Among them are those that kernstash does not make faster than the caches they have.
var shown = []struct{ row, name, note string }{
	{"hashcat, MD5", "hashcat", "MD5, four letters"},
	{"pyopencl", "pyopencl", "a script, 13 programs"},
	{"ffmpeg, three filters", "ffmpeg", "three OpenCL filters"},
	{"clpeak", "clpeak", "--kernel-latency"},
}

// columns are those of the table that are drawn, and what their bars are called.
var columns = []struct {
	head   string
	series chart.Series
}{
	{"first", chart.Series{Name: "first start, in an empty home: everything is compiled", Kind: chart.Other}},
	{"again", chart.Series{Name: "second start, with the caches that PoCL and the application have by themselves", Kind: chart.Bare}},
	{"layer, wiped", chart.Series{Name: "kernstash run, in a home of which nothing but kernstash's cache is left", Kind: chart.Ours}},
}

// plot draws the first table of a document.
func plot(document string) (string, error) {
	_, table, found := strings.Cut(document, "<!-- table: make applications -->\n")
	table, after, ends := strings.Cut(table, "<!-- end of table -->\n")
	if !found || !ends {
		return "", fmt.Errorf("it has no table of `make applications`")
	}
	lines := strings.Split(strings.TrimSpace(table), "\n")
	head := cells(lines[0])
	rows := make(map[string][]string)
	for _, line := range lines[min(2, len(lines)):] {
		if row := cells(line); len(row) == len(head) && row[1] == "–" {
			rows[row[0]] = row
		}
	}
	c := chart.Groups{Title: "Four applications that nobody changed: the whole process", Unit: "s", Caption: caption(after)}
	for _, column := range columns {
		c.Series = append(c.Series, column.series)
	}
	for _, s := range shown {
		row, ok := rows[s.row]
		if !ok {
			return "", fmt.Errorf("its table has no row of %s without variables", s.row)
		}
		group := chart.Group{Name: s.name, Note: s.note}
		for _, column := range columns {
			v, err := seconds(head, row, column.head)
			if err != nil {
				return "", err
			}
			group.Values = append(group.Values, v)
		}
		c.Groups = append(c.Groups, group)
	}
	return c.SVG(), nil
}

// cells splits a row of a table.
func cells(line string) []string {
	all := strings.Split(strings.Trim(line, "|"), "|")
	for i, cell := range all {
		all[i] = strings.Trim(cell, " *")
	}
	return all
}

// seconds returns the time that a row has in the column of that name.
func seconds(head, row []string, name string) (float64, error) {
	for i, h := range head {
		if h != name {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSuffix(row[i], " s"), 64)
		if err != nil || v <= 0 {
			return 0, fmt.Errorf("%s, %s: %q is no time", row[0], name, row[i])
		}
		return v, nil
	}
	return 0, fmt.Errorf("its table has no column %s", name)
}

// caption is the paragraph below the table, which says where it was measured.
func caption(after string) []string {
	paragraph, _, _ := strings.Cut(strings.TrimSpace(after), "\n\n")
	return strings.Split(paragraph, "\n")
}
