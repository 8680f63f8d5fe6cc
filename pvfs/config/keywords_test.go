package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// samples are values for keywords that differ from the defaults and from the skeleton.
var samples = map[string]string{
	"Alias": "three mem://three", "Server": "two", "Range": "one 500-600", "Name": "twod_stripe", "RootHandle": "4",
	"FileStuffing": "no", "TroveSyncMeta": "no", "TroveSyncData": "no", "TurnOffTimeouts": "yes", "TrustedPorts": "1-1023",
	"TroveMethod": "directio", "TrustedNetwork": "tcp://10.*", "RootSquash": "*", "RootSquashExceptions": "*",
	"AllSquash": "*", "ReadOnly": "*", "Param": "strip_size", "Value": "4096", "StorageSpace": "/s", "MetadataStorageSpace": "/m",
	"Hosts": "ldaps://x", "BindPassword": "file:/p", "SearchMode": "DN", "SearchScope": "onelevel",
}

// sample is the skeleton with a keyword in a section, in the given spelling. It replaces a line with the keyword if that may
// appear only once.
func sample(k Keyword, section, spelt string) string {
	value, ok := samples[k.Name]
	if !ok {
		value = "7"
	}
	line := spelt + " " + value
	switch k.Name {
	case "Param":
		return with(section, line+"\nValue 8192")
	case "Value":
		return with(section, "Param strip_size\n"+line)
	case "Name", "ID", "RootHandle", "Server":
		begin := strings.Index(skeleton, section)
		at := begin + strings.Index(skeleton[begin:], "\t"+k.Name+" ") + 1
		return skeleton[:at] + line + skeleton[at+strings.Index(skeleton[at:], "\n"):]
	}
	return with(section, line)
}

// eachKeyword calls f for each keyword in each of its sections.
func eachKeyword(f func(k Keyword, section string)) {
	for _, k := range Keywords() {
		for _, section := range k.Sections {
			f(k, section)
		}
	}
}

func TestKeywordsParse(t *testing.T) {
	eachKeyword(func(k Keyword, section string) {
		for _, spelt := range []string{k.Name, strings.ToUpper(k.Name)} {
			_, err := Parse(sample(k, section, spelt))
			require.NoError(t, err, "%s in %s", spelt, section)
		}
		twice := with(section, strings.Repeat(k.Name+" 1\n", 2))
		_, err := Parse(twice)
		if k.Many {
			require.False(t, err != nil && strings.Contains(err.Error(), " twice"), "%s in %s", k.Name, section)
		} else {
			require.ErrorContains(t, err, section+" has "+k.Name+" twice")
		}
	})
}

// TestKeywordsMisspelt: two swapped letters anywhere are an error that names the keyword.
func TestKeywordsMisspelt(t *testing.T) {
	eachKeyword(func(k Keyword, section string) {
		for i := range len(k.Name) - 1 {
			letters := []byte(k.Name)
			letters[i], letters[i+1] = letters[i+1], letters[i]
			misspelt := string(letters)
			if strings.EqualFold(misspelt, k.Name) {
				continue
			}
			_, err := Parse(sample(k, section, misspelt))
			require.ErrorContains(t, err, section+` has no keyword "`+misspelt+`": did you mean `+k.Name+"?")
		}
	})
	for _, s := range sections {
		misspelt := s.name[:2] + s.name[3:]
		_, err := Parse(strings.Replace(skeleton, s.name, misspelt, 1))
		require.ErrorContains(t, err, "there is no section "+misspelt+": did you mean "+s.name+"?")
	}
}

// seen is all settings of a configuration.
func seen(t *testing.T, text string) (all []any) {
	c, err := Parse(text)
	require.NoError(t, err, text)
	for server := range c.Servers {
		all = append(all, c.MetaDir(server))
		own := *c.ForServer(server)
		own.Security.SecretKey = "" // parsed, but not used
		v := reflect.ValueOf(own)
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Text" {
				all = append(all, v.Field(i).Interface())
			}
		}
	}
	return all
}

// TestKeywordsEffect: a keyword has an effect if the table says so. Otherwise it is in Ignored, unless its value is a usual one.
func TestKeywordsEffect(t *testing.T) {
	plain := seen(t, skeleton)
	eachKeyword(func(k Keyword, section string) {
		text := sample(k, section, k.Name)
		c, err := Parse(text)
		require.NoError(t, err)
		if k.Name == "Server" {
			return // names, with settings elsewhere
		}
		if k.Effect == NoEffect {
			require.Equal(t, plain, seen(t, text), "%s in %s", k.Name, section)
			for _, usual := range k.Usual {
				c, err := Parse(with(section, k.Name+" "+usual))
				require.NoError(t, err)
				require.Empty(t, c.Ignored(), "%s %s", k.Name, usual)
			}
			if slices.Contains(k.Usual, "*") {
				return
			}
			require.Len(t, c.Ignored(), 1)
			require.Equal(t, k, c.Ignored()[0].Keyword)
			require.Equal(t, section, c.Ignored()[0].Section)
			return
		}
		require.NotEqual(t, plain, seen(t, text), "%s in %s", k.Name, section)
		require.Empty(t, c.Ignored())
		require.Empty(t, k.Why, k.Name)
		require.Empty(t, k.Usual, k.Name)
	})
}

// TestKeywordsTable: a keyword has one entry per section, and every section has keywords.
func TestKeywordsTable(t *testing.T) {
	there := map[string]bool{}
	eachKeyword(func(k Keyword, section string) {
		key := strings.ToLower(section + k.Name)
		require.False(t, there[key], key)
		there[key], there[section] = true, true
		require.True(t, k.In(strings.ToUpper(section)))
	})
	for _, s := range sections {
		require.True(t, there[s.name], s.name)
	}
	// OrangeFS 2.9.8 and 2.10.0 have 91 keywords in their table, and genconfig writes two more.
	require.Len(t, keywords, 93)
}
