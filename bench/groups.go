package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// rowsOfGroup are the prefixes of the rows of each part that can be measured alone, by its
// name for -only. groupStates has tables of its own in place of rows.
var rowsOfGroup = map[string]string{
	groupPVFS: pvfsRowsPrefix, groupStrangers: strangersRowIs, groupBuilds: buildsRowsPrefix,
	groupStates: noRows, groupOversubscribed: oversubscribedRowsPrefix,
	groupOneSided: oneSidedRowsPrefix, groupFiles: filesRowsPrefix, groupCheckpoint: checkpointRowsPrefix,
	groupBusy: busyRowsPrefix, groupThreads: threadsRowsPrefix, groupStart: startRowsPrefix, groupHosts: hostsRowsPrefix,
}

// noRows is a prefix that no row has.
const noRows = "\n"

// checkGroup returns an error if there is no such part.
func checkGroup(only string) error {
	if _, ok := rowsOfGroup[only]; ok || only == "" {
		return nil
	}
	return fmt.Errorf("-only %s: the parts that can be measured alone are %s", only, groupNames())
}

func groupNames() string { return strings.Join(slices.Sorted(maps.Keys(rowsOfGroup)), ", ") }
