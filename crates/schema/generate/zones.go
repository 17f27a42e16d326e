package main

import (
	"archive/zip"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
)

// zones are the names of the time zones that Go's own copy of the IANA database has.
func zones() []string {
	archive, err := zip.OpenReader(filepath.Join(runtime.GOROOT(), "lib/time/zoneinfo.zip"))
	check(err)
	defer archive.Close()
	var names []string
	for _, file := range archive.File {
		if !strings.HasSuffix(file.Name, "/") {
			names = append(names, file.Name)
		}
	}
	sort.Strings(names)
	return names
}
