package server

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/wire"
)

// spawn reads the rest of a spawn's program. After the last program it starts all of them.
func (s *session) spawn() error {
	var p wire.SpawnParser
	for done := false; !done; {
		var err error
		if s.line, err = wire.ReadLine(s.r, s.line[:0]); err != nil {
			return fmt.Errorf("in a spawn: %w", err)
		}
		if done, err = p.Line(s.line); err != nil {
			return err
		}
	}
	program, err := p.Spawn()
	if err != nil {
		return err
	}
	s.spawns = append(s.spawns, program)
	if program.Number != len(s.spawns) || program.Total != s.spawns[0].Total || program.Total > spawnsMax {
		return fmt.Errorf("%w: program %d of %d of a spawn is at place %d; %d programs are allowed", wire.ErrMalformed, program.Number, program.Total, len(s.spawns), spawnsMax)
	}
	if program.Number < program.Total {
		return nil
	}
	programs := s.spawns
	s.spawns = nil
	return s.startAll(programs)
}

func (s *session) startAll(programs []wire.Spawn) error {
	for _, pair := range programs[0].Preput {
		if len(pair.Key) >= keyBytesMax || len(pair.Value) >= valueBytesMax || len(programs[0].Preput) > spawnPairsMax {
			return s.answer("spawn_result", "rc", "-1", "msg", "pairs_too_long_or_too_many")
		}
		if _, err := wire.AppendLine(nil, wire.New("get_result", "value", pair.Value)); err != nil {
			return s.answer("spawn_result", "rc", "-1", "msg", "a_value_that_no_process_could_be_told")
		}
	}
	if s.job.cfg.Spawn == nil {
		return s.answer("spawn_result", "rc", "-1", "msg", "this_launcher_starts_no_more_processes")
	}
	codes, err := s.job.cfg.Spawn(s.rank, programs)
	if err != nil {
		return s.answer("spawn_result", "rc", "-1", "msg", word(fmt.Sprintf("%.400s", err))) // the text may repeat a long path
	}
	text := make([]string, len(codes))
	for i, code := range codes {
		text[i] = strconv.Itoa(code)
	}
	return s.answer("spawn_result", "rc", "0", "errcodes", strings.Join(text, ","))
}
