package busy

import "testing"

func TestBusy(t *testing.T) {
	done := make(chan int)
	go close(done)
	<-done
}
