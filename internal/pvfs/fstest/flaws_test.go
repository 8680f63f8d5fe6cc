package fstest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/verdict"
)

// A flaw is a bug planted in the model.
type flaw string

const (
	none flaw = ""

	mixesErrors            flaw = "has one error for everything"
	loopsAreMissing        flaw = "says of a loop that it is not there"
	filesAreMissing        flaw = "says that there is nothing below a file"
	refusalsAreMissing     flaw = "says that what is refused is not there"
	losesWrites            flaw = "does not keep what is written"
	readsZeros             flaw = "reads zeros"
	losesStripBorder       flaw = "loses the first byte of each further strip"
	losesTheMiddle         flaw = "cuts writes that almost fit one message"
	keepsOldBytes          flaw = "shows what was cut off when a file grows again"
	holesHaveGarbage       flaw = "has garbage in holes"
	hasShortSizes          flaw = "has offsets of 32 bits"
	sizesWrap              flaw = "takes writes beyond the largest offset"
	truncatesNothing       flaw = "does not truncate"
	truncatesToStrips      flaw = "truncates to whole strips"
	ignoresTruncFlag       flaw = "ignores O_TRUNC"
	ignoresExclusive       flaw = "ignores O_EXCL"
	createsAlways          flaw = "creates what is opened"
	ignoresReadOnly        flaw = "opens everything for reading and writing"
	appendOverwrites       flaw = "ignores O_APPEND"
	ignoresWhence          flaw = "seeks from the start only"
	readsStandStill        flaw = "reads the same again"
	readsBehindTheEnd      flaw = "does not tell where a file ends"
	negativeIsZero         flaw = "takes negative offsets for 0"
	closesNothing          flaw = "goes on after close"
	emptyWritesGrow        flaw = "makes a file longer by writing nothing"
	opensByName            flaw = "finds an open file by its name"
	unlinkedGoes           flaw = "loses an open file when its name goes"
	roundsSizes            flaw = "has sizes in blocks"
	syncFails              flaw = "cannot sync"
	hasNoSpace             flaw = "has more free than there is"
	everythingIsAFile      flaw = "has files only"
	cutsNames              flaw = "keeps 254 bytes of a name"
	cutsLongNames          flaw = "cuts names that are too long"
	foldsCase              flaw = "has names in lower case"
	normalises             flaw = "normalises names"
	wantsUTF8              flaw = "refuses names that are not UTF-8"
	cleansPaths            flaw = "takes .. out of paths as text"
	losesDoubledSlashes    flaw = "does not know doubled slashes"
	limitsDepth            flaw = "ends at forty directories"
	limitsPath             flaw = "ends at paths of 1024 bytes"
	listsFewer             flaw = "lists 512 names"
	listsTwice             flaw = "lists a name twice"
	listsDots              flaw = "lists dots"
	makesParents           flaw = "makes parents"
	mkdirsTwice            flaw = "makes a directory that is there"
	removesNothing         flaw = "removes nothing"
	removesFull            flaw = "removes full directories"
	removesTarget          flaw = "removes what a link leads to"
	forgetsToReplace       flaw = "does not rename over what is there"
	replacesFull           flaw = "renames over full directories"
	replacesAnything       flaw = "renames anything over anything"
	renamesIntoItself      flaw = "says that it renamed a directory into itself"
	renameFollows          flaw = "renames what a link leads to"
	renameCopies           flaw = "keeps the old name too"
	renameResetsMode       flaw = "renames without the mode"
	renamesToItselfRemoves flaw = "removes what is renamed to itself"
	cutsTargets            flaw = "keeps 255 bytes of a target"
	cleansTargets          flaw = "cleans targets"
	symlinksOver           flaw = "makes links in place of what is there"
	readsAnyLink           flaw = "reads links that are none"
	lstatFollows           flaw = "follows links in lstat"
	everybodyIsRoot        flaw = "takes everybody for root"
	everybodyReads         flaw = "lets everybody read"
	everybodyWrites        flaw = "lets everybody write"
	everybodySearches      flaw = "lets everybody search"
	everybodyLists         flaw = "lets everybody list"
	everybodyMakes         flaw = "lets everybody create"
	everybodyRemoves       flaw = "lets everybody remove"
	everybodyRenames       flaw = "lets everybody rename"
	everybodyChmods        flaw = "lets everybody change modes"
	everybodyChowns        flaw = "lets everybody change owners"
	everybodyChtimes       flaw = "lets everybody change times"
	everybodySetsXattrs    flaw = "lets everybody set attributes"
	ownersGiveAway         flaw = "lets owners give files away"
	anyClassWill           flaw = "grants what any class has"
	ignoresGroups          flaw = "does not know groups"
	ignoresLaterGroups     flaw = "knows the first group only"
	ignoresMode            flaw = "does not change modes"
	hasUmask               flaw = "takes bits from modes of new objects"
	dropsSetGID            flaw = "keeps nine bits of a mode"
	openTruncatesDirs      flaw = "changes the mode of what it truncates"
	madeByRoot             flaw = "has root own what is new"
	groupsAreFixed         flaw = "does not change groups"
	hasShortIDs            flaw = "has ids of 16 bits"
	ignoresSetGID          flaw = "gives nothing the group of its directory"
	hasShortTimes          flaw = "has times of 32 bits"
	hasNoTimes             flaw = "has no times of access and change"
	setsNoTimes            flaw = "does not set times"
	setsBothTimes          flaw = "sets both times at once"
	chmodMovesTime         flaw = "moves times with the mode"
	writesKeepTime         flaw = "does not move times with writes"
	limitsXattrs           flaw = "keeps 255 bytes of an attribute"
	xattrsAreStrings       flaw = "ends attributes at a zero"
	ignoresXattrFlags      flaw = "ignores the flags of attributes"
	takesLargeXattrs       flaw = "cuts attributes that are too large"
	xattrsAppend           flaw = "appends to attributes"
	keepsXattrs            flaw = "keeps attributes of what is removed"
	absentXattrsAreEmpty   flaw = "has attributes that nobody set"
	listsFewXattrs         flaw = "lists sixteen attributes"
)

// caught lists the cases that must report a flaw. Others may report it too.
var caught = []struct {
	flaw  flaw
	cases string
}{
	{mixesErrors, "OpenOfMissingName MkdirOfMissingParent RenameToThroughFile StatThroughLoop CreateOfTooLongName RemoveFullDirectory"},
	{losesWrites, "WriteAndRead SizeOf1 HoleUpTo1 WritersOfBlocksOf65536"},
	{readsZeros, "WriteAndRead SizeOf511 ReadersOfBlocksOf1000"},
	{loopsAreMissing, "StatThroughLoop SymlinkToItself SymlinkChainTooLong SymlinkLoopOfThree"},
	{filesAreMissing, "OpenThroughFile ReadDirOfFile SymlinkToFileInPath"},
	{refusalsAreMissing, "ReadRefusedToOwner ListRefusedToGroup ChmodOfOthers StatInClosedDirectory"},
	{losesStripBorder, "SizeOf65537 Overwrite2At65535 GrowsFrom1To65537"},
	{losesTheMiddle, "SizeOf16345 SizeOf16384"},
	{keepsOldBytes, "TruncateFrom1000To1 TruncateFrom131072To65537"},
	{holesHaveGarbage, "HoleUpTo65536 HoleOf1Between HoleReadByItself EveryOtherBlock TruncateFrom0To1"},
	{hasShortSizes, "HugeHoleUpTo4294967301 TruncateUpToHuge"},
	{sizesWrap, "OffsetsBeyondAllSizes"},
	{truncatesNothing, "TruncateFrom1To0 TruncateByHandle TruncateThroughSymlink TwoHandlesSeeOneFile"},
	{truncatesToStrips, "TruncateFrom0To65537 TruncateFrom131072To100000"},
	{ignoresTruncFlag, "OpenTruncates ShrinksAndGrowsAgain"},
	{ignoresExclusive, "OpenExclusive SymlinkAndExclusive CreateTheSameFile"},
	{createsAlways, "OpenCreatesOnlyIfAsked OpenOfMissingName"},
	{ignoresReadOnly, "OpenReadOnlyDoesNotWrite OpenReadOnlyDoesNotTruncate OpenWriteOnlyDoesNotRead"},
	{appendOverwrites, "AppendWrites AppendWritesBehindOthers"},
	{ignoresWhence, "SeekFromEachEnd"},
	{readsStandStill, "ReadAndWriteMoveOn SizeOf4096"},
	{readsBehindTheEnd, "ReadAtTheEnd TwoHandlesSeeOneFile HugeHoleUpTo4294967301"},
	{negativeIsZero, "NegativeOffsets TruncateToNegative SeekFromEachEnd"},
	{closesNothing, "UseAfterClose"},
	{emptyWritesGrow, "NothingIsWritten"},
	{opensByName, "HandleFollowsRename UnlinkedFileStays ReplacedFileStays UnlinkedFileDoesNotComeBack AccessKeptByHandle"},
	{unlinkedGoes, "UnlinkedFileStays"},
	{roundsSizes, "WriteAndRead StatOfOpenFile"},
	{syncFails, "SyncThenRead"},
	{hasNoSpace, "SpaceIsSensible"},
	{everythingIsAFile, "MakeDirectory StatOfTheTop ListTellsKinds NameDashOfDirectory"},
	{cutsNames, "NameOf255OfFile NamesWithCommonPrefix RenameLongNames"},
	{cutsLongNames, "NameOf256 NameOf1000 MkdirOfTooLongName"},
	{foldsCase, "NamesDifferInCase NameUpperAndLowerOfFile"},
	{normalises, "NamesAreNotNormalised NameCombiningOfSymlink"},
	{wantsUTF8, "NameLatin1OfFile NameBrokenUTF8OfDirectory NamesOfEveryByte"},
	{cleansPaths, "SymlinkUpAndDown"},
	{losesDoubledSlashes, "DoubledSlashes"},
	{limitsDepth, "TreeOf41 TreeOf100"},
	{limitsPath, "LongPath"},
	{listsFewer, "ListOf513 ListOf2000 ListWhileNamesCome"},
	{listsTwice, "ListOf2 ListOf512 NamesDifferInCase"},
	{listsDots, "ListOf0 ListOf1 MakeDirectory"},
	{makesParents, "MkdirDoesNotMakeParents MkdirOfMissingParent"},
	{mkdirsTwice, "MkdirTwice MkdirTheSame ListOf2"},
	{removesNothing, "RemoveFile RemoveDirectory RemoveTheSame"},
	{removesFull, "RemoveFullDirectory RemoveDirectoryOfDirectories"},
	{removesTarget, "RemoveSymlinkNotTarget RemoveSymlinkToDirectory RemoveDanglingSymlink"},
	{forgetsToReplace, "RenameOverFile RenameOverEmptyDirectory RenameOverSymlink RenameChain"},
	{replacesFull, "RenameOverFullDirectory RenameOverOwnParent"},
	{replacesAnything, "RenameFileOverDirectory RenameDirectoryOverFile RenameDirectoryOverSymlink"},
	{renamesIntoItself, "RenameIntoItself RenameIntoOwnGrandchild"},
	{renameFollows, "RenameSymlinkNotTarget RenameOverSymlink RenameOverSymlinkToDirectory"},
	{renameCopies, "RenameFile RenameBackAndForth RenameTheSame"},
	{renameResetsMode, "RenameKeepsAttributes"},
	{renamesToItselfRemoves, "RenameToItself"},
	{cutsTargets, "SymlinkTargetOf256 SymlinkTargetOf4000"},
	{cleansTargets, "SymlinkTargetSlashes"},
	{symlinksOver, "SymlinkOverExisting"},
	{readsAnyLink, "ReadlinkOfOthers"},
	{lstatFollows, "SymlinkToFile SymlinkDangling SymlinkTargetPlain"},
	{everybodyIsRoot, "ReadRefusedToOwner AccessOwnerBeforeGroup OwnerIsWhoCreates"},
	{everybodyReads, "ReadRefusedToOther OpenBelowRefusedToGroup AccessThroughOpenParents AccessOwnerBeforeGroup"},
	{everybodyWrites, "WriteRefusedToOwner ReadWriteRefusedToGroup TruncateRefusedToOther OpenTruncateRefusedToOther"},
	{everybodySearches, "SearchRefusedToOwner SearchDeeperRefusedToOther StatInClosedDirectory GetxattrInClosedDirectory"},
	{everybodyLists, "ListRefusedToOther AccessThroughOpenParents"},
	{everybodyMakes, "CreateBelowRefusedToOwner MkdirBelowRefusedToGroup SymlinkBelowRefusedToOther"},
	{everybodyRemoves, "RemoveBelowRefusedToOther RemoveDirBelowRefusedToGroup RemoveInClosedDirectory"},
	{everybodyRenames, "RenameBelowRefusedToOwner RenameInRefusedToOther RenameOutRefusedToGroup"},
	{everybodyChmods, "ChmodOfOthers"},
	{everybodyChowns, "ChownOfOthers ChownGivesAway ChownToForeignGroup"},
	{everybodyChtimes, "ChtimesOfOthers ChtimesInClosedDirectory"},
	{everybodySetsXattrs, "XattrOfOthers SetxattrInClosedDirectory"},
	{ownersGiveAway, "ChownGivesAway ChownToForeignGroup"},
	{anyClassWill, "AccessOwnerBeforeGroup AccessGroupBeforeOther ReadRefusedToOwner"},
	{ignoresGroups, "ReadByGroup ChownToOwnGroup AccessGroupBeforeOther"},
	{ignoresLaterGroups, "AccessByLaterGroup ListByGroup"},
	{ignoresMode, "ModeOfFile0700 ModeOfDirectory0777 AccessChangesAtOnce ChmodThroughSymlink"},
	{hasUmask, "CreateWithMode0666 CreateWithMode0777"},
	{dropsSetGID, "ModeOfFile4755 ModeOfDirectory2755"},
	{openTruncatesDirs, "RemoveLosesAttributes"},
	{madeByRoot, "OwnerIsWhoCreates ChmodNeedsNoRight"},
	{groupsAreFixed, "ChownByRoot ChownToOwnGroup"},
	{hasShortIDs, "ChownLargeIDs"},
	{ignoresSetGID, "SetGIDDirectoryGivesGroup"},
	{hasShortTimes, "TimeSetTo2147483648 TimeSetTo4000000000"},
	{hasNoTimes, "TimesOfNewObjects TimesOneByOne"},
	{setsNoTimes, "TimeSetTo1 TimesOneByOne TimeMovesWithTruncate TimeOfDirectoryMovesWithCreate TimeSetAfterWriteStays"},
	{setsBothTimes, "TimesOneByOne"},
	{chmodMovesTime, "TimesStayWhenNothingHappens"},
	{writesKeepTime, "TimeMovesWithWrite TimeMovesWithLargeWrite"},
	{limitsXattrs, "XattrOf256 XattrOf8192"},
	{xattrsAreStrings, "XattrOddValues"},
	{ignoresXattrFlags, "XattrCreateOnly XattrReplaceOnly"},
	{takesLargeXattrs, "XattrTooLarge XattrKeyTooLong"},
	{xattrsAppend, "XattrLifeOnFile XattrOddValues XattrReplaceOnly"},
	{keepsXattrs, "XattrsGoWithFile XattrsFollowRename"},
	{absentXattrsAreEmpty, "XattrAbsent XattrLifeOnDirectory"},
	{listsFewXattrs, "XattrsMany XattrsOfLongKeys"},
}

// enough is all cases, or a part with the race detector, which is ten times slower.
func enough() fstest.Cases {
	if race.Enabled {
		return fstest.All.Share(0, 10)
	}
	return fstest.All
}

// fails runs a case with a flaw.
func fails(c fstest.Case, f flaw) *verdict.T {
	return verdict.Run(c.Name, func(t *verdict.T) { fstest.RunCase(t, c, &fstest.Subject{As: flawed(f)}) })
}

// TestFlawlessPasses: without a flaw, the flawed model passes. So the failures below come from the flaws.
func TestFlawlessPasses(t *testing.T) {
	fstest.RunCases(t, enough(), func(fstest.T) *fstest.Subject { return &fstest.Subject{As: flawed(none)} })
}

// TestFlawsAreReported: the suite detects every flaw.
func TestFlawsAreReported(t *testing.T) {
	for _, c := range caught {
		t.Run(string(c.flaw), func(t *testing.T) {
			for _, name := range strings.Fields(c.cases) {
				test, ok := fstest.All.Find(name)
				require.True(t, ok, "no case is called %s", name)
				r := fails(test, c.flaw)
				assert.Empty(t, r.Skipped(), "%s", name)
				assert.True(t, r.Failed(), "%s passes with a file system that %s", name, c.flaw)
				if r.Failed() {
					assert.NotEmpty(t, r.Errors(), "%s says what is wrong", name)
				}
			}
		})
	}
}

// TestEveryCaseCanFail: there is a flaw for each case.
func TestEveryCaseCanFail(t *testing.T) {
	likely := []flaw{mixesErrors, losesWrites, listsTwice, removesNothing, everythingIsAFile, everybodyIsRoot, readsZeros, ignoresMode, cutsTargets}
	for _, c := range enough() {
		failed := false
		try := likely
		for _, known := range caught {
			if slices.Contains(strings.Fields(known.cases), c.Name) {
				failed = true // TestFlawsAreReported has checked that
				break
			}
			try = append(try, known.flaw)
		}
		for i := 0; i < len(try) && !failed; i++ {
			failed = fails(c, try[i]).Failed()
		}
		assert.True(t, failed, "no flaw makes %s fail", c.Name)
	}
}
