-- Wireshark dissector for the datagrams of via+udp:// (docs/internals/protocols/udp.md).
--
--   wireshark -X lua_script:viaduct-udp.lua capture.pcap
--
-- or copy it into the folder of personal Lua plugins (Help, About, Folders). It
-- recognises the packets by their contents. If others look the same, set the UDP ports
-- in the preferences of the protocol, or use "Decode As".
--
-- Of connections with a key it shows the unencrypted parts, of insecure ones everything,
-- down to the header of the VIA method's packets (docs/internals/protocols/via.md).

local p = Proto("viaduct_udp", "Viaduct UDP NIC")

local kinds = { [1] = "INIT", [2] = "RETRY", [3] = "RESPONSE", [4] = "REFUSED", [5] = "PACKET", [6] = "RESET" }
local modes = { [1] = "insecure", [2] = "Noise", [3] = "static keys", [4] = "static keys and a shared key" }
local init_bytes = { [1] = 512, [2] = 512, [3] = 560, [4] = 560 }
local codes = {
	[1] = "another key", [2] = "another version", [3] = "nobody listens", [4] = "busy", [5] = "unknown key",
	[17] = "sender is insecure", [18] = "sender has a shared key", [19] = "sender has static keys", [20] = "sender has static keys and a shared key",
}
local lanes = { [0] = "priority", [1] = "data" }
local ciphers = { [0] = "none", [1] = "ChaCha20-Poly1305", [2] = "AES-256-GCM", [3] = "ChaCha20-Poly1305, AES-256-GCM" }
local verdicts = { [0] = "accepted", [1] = "rejected" }
local segments = { [1] = "SEND", [2] = "WRITE", [3] = "READ_REQUEST", [4] = "READ_DATA", [5] = "READ_REFUSED", [6] = "BYE" }
local reasons = { [1] = "protocol", [2] = "no receive", [3] = "length", [4] = "memory", [5] = "RDMA" }
local types = {
	[3] = "CONN_REQ", [4] = "CONN_ACK", [5] = "EXPECTED", [6] = "UNEXPECTED", [7] = "RTS", [8] = "CTS",
	[9] = "DATA", [10] = "FIN", [11] = "CREDIT", [12] = "CANCEL", [13] = "KEEP_ALIVE",
}

local f = {
	kind = ProtoField.uint8("viaduct_udp.kind", "Kind", base.DEC, kinds),
	mode = ProtoField.uint8("viaduct_udp.mode", "Mode", base.DEC, modes),
	version = ProtoField.uint16("viaduct_udp.version", "Version", base.DEC),
	from = ProtoField.uint32("viaduct_udp.from", "From (connection id)", base.HEX),
	to = ProtoField.uint32("viaduct_udp.to", "To (connection id)", base.HEX),
	nonce = ProtoField.uint64("viaduct_udp.nonce", "Nonce of the attempt", base.HEX),
	port = ProtoField.uint16("viaduct_udp.data_port", "Port of the data lane", base.DEC),
	cookie = ProtoField.bytes("viaduct_udp.cookie", "Cookie"),
	code = ProtoField.uint8("viaduct_udp.code", "Code", base.DEC, codes),
	token = ProtoField.bytes("viaduct_udp.token", "Token of a RESET"),
	sealed = ProtoField.bytes("viaduct_udp.sealed", "Sealed"),
	ciphers = ProtoField.uint8("viaduct_udp.ciphers", "Ciphers", base.DEC, ciphers),
	verdict = ProtoField.uint8("viaduct_udp.verdict", "Verdict", base.DEC, verdicts),
	private = ProtoField.bytes("viaduct_udp.private", "Private data"),
	name = ProtoField.string("viaduct_udp.name", "Name of the sender"),
	reason = ProtoField.bytes("viaduct_udp.reason", "Reason"),
	lane = ProtoField.uint8("viaduct_udp.lane", "Lane", base.DEC, lanes),
	number = ProtoField.uint64("viaduct_udp.number", "Number", base.DEC),
	checksum = ProtoField.uint32("viaduct_udp.checksum", "Checksum", base.HEX),
	checksum_good = ProtoField.bool("viaduct_udp.checksum.good", "Good"),

	flags = ProtoField.uint8("viaduct_udp.flags", "Flags", base.HEX),
	has_segment = ProtoField.bool("viaduct_udp.flags.segment", "Segments follow", 8, nil, 1),
	has_ack = ProtoField.bool("viaduct_udp.flags.ack", "Ack counts", 8, nil, 2),
	answer = ProtoField.bool("viaduct_udp.flags.answer", "Answer at once", 8, nil, 4),
	has_echo = ProtoField.bool("viaduct_udp.flags.echo", "Echo counts", 8, nil, 8),
	seq = ProtoField.uint32("viaduct_udp.seq", "Sequence number of the first segment", base.DEC),
	ack = ProtoField.uint32("viaduct_udp.ack", "Ack", base.DEC),
	stamp = ProtoField.uint32("viaduct_udp.stamp", "Stamp (us)", base.DEC),
	echo = ProtoField.uint32("viaduct_udp.echo", "Echo (us)", base.DEC),
	range_first = ProtoField.uint32("viaduct_udp.range.first", "Arrived from", base.DEC),
	range_end = ProtoField.uint32("viaduct_udp.range.end", "Arrived before", base.DEC),

	segment = ProtoField.uint8("viaduct_udp.segment", "Segment", base.DEC, segments),
	has_immediate = ProtoField.bool("viaduct_udp.segment.has_immediate", "Immediate data", 8, nil, 1),
	has_next = ProtoField.bool("viaduct_udp.segment.has_next", "Another segment follows", 8, nil, 2),
	length = ProtoField.uint16("viaduct_udp.segment.length", "Length of the data", base.DEC),
	message = ProtoField.uint32("viaduct_udp.message", "Message number", base.DEC),
	immediate = ProtoField.uint32("viaduct_udp.immediate", "Immediate data", base.HEX),
	bye_reason = ProtoField.uint32("viaduct_udp.bye_reason", "Reason", base.DEC, reasons),
	total = ProtoField.uint32("viaduct_udp.total", "Bytes of the message", base.DEC),
	offset = ProtoField.uint32("viaduct_udp.offset", "Offset", base.DEC),
	receive = ProtoField.uint32("viaduct_udp.receive", "Receive", base.DEC),
	addr = ProtoField.uint64("viaduct_udp.addr", "Address", base.HEX),
	handle = ProtoField.uint64("viaduct_udp.handle", "Handle", base.HEX),
	data = ProtoField.bytes("viaduct_udp.data", "Data"),

	via_type = ProtoField.uint32("viaduct_udp.via.type", "Type", base.DEC, types, 0xf0000000),
	via_credits = ProtoField.uint32("viaduct_udp.via.credits", "Credits", base.DEC, nil, 0x0f000000),
	via_peer = ProtoField.uint32("viaduct_udp.via.peer", "Peer id", base.DEC, nil, 0x000fffff),
	via_tag = ProtoField.uint32("viaduct_udp.via.tag", "Tag", base.DEC),
	via_seq = ProtoField.uint32("viaduct_udp.via.seq", "Sequence number", base.DEC),
	via_aux = ProtoField.uint32("viaduct_udp.via.aux", "Aux", base.HEX),
}
p.fields = f

local bad_checksum = ProtoExpert.new("viaduct_udp.bad_checksum", "Wrong checksum", expert.group.CHECKSUM, expert.severity.WARN)
local malformed = ProtoExpert.new("viaduct_udp.malformed", "Not as the protocol says", expert.group.MALFORMED, expert.severity.WARN)
p.experts = { bad_checksum, malformed }

p.prefs.ports = Pref.range("UDP ports", "", "Ports whose traffic is always taken for this protocol, for instance 7000-7010", 65535)
p.prefs.checksums = Pref.bool("Check checksums", true, "CRC-32C of insecure connections")

-- Lua 5.1 to 5.4 have different operators for exclusive or.
local xor
if bit32 then
	xor = bit32.bxor
elseif load("return 1 ~ 1") then
	xor = load("return function(a, b) return a ~ b end")()
else
	xor = function(a, b) return bit.bxor(a, b) % 0x100000000 end
end

local crc_table = {}
for i = 0, 255 do
	local c = i
	for _ = 1, 8 do
		c = c % 2 == 1 and xor((c - 1) / 2 - (c - 1) / 2 % 1, 0x82f63b78) or (c - c % 2) / 2
	end
	crc_table[i] = c
end

-- crc32c of the first n bytes of a range.
local function crc32c(range, n)
	local bytes = range:bytes():raw(0, n)
	local c = 0xffffffff
	for i = 1, n do
		local low = c % 256
		c = xor(crc_table[xor(low, bytes:byte(i)) % 256], (c - low) / 256)
	end
	return xor(c, 0xffffffff)
end

local function zero(buf, from, n)
	for i = from, from + n - 1 do
		if buf(i, 1):uint() ~= 0 then return false end
	end
	return true
end

-- insecure reports whether the payload of a PACKET is readable, that is, begins with a
-- transport header. A sealed payload looks like one with a probability below 2^-50.
local function insecure(buf)
	return buf:len() >= 44 and buf(16, 1):uint() < 16 and buf(17, 1):uint() <= 32 and zero(buf, 18, 2) and zero(buf, 36, 4)
end

-- ours reports whether a datagram looks like one of this protocol.
local function ours(buf)
	local n = buf:len()
	if n < 16 then return false end
	local kind, second = buf(0, 1):uint(), buf(1, 1):uint()
	if kind == 1 then
		return n == init_bytes[second] and buf(4, 4):le_uint() ~= 0 and zero(buf, 18, 6)
	elseif kind == 2 then
		return n == 48 and zero(buf, 1, 3)
	elseif kind == 3 then
		return n == 232 and modes[second] ~= nil and zero(buf, 2, 2) and zero(buf, 22, 2)
	elseif kind == 4 then
		return n == 16 and codes[second] ~= nil and buf(4, 4):le_uint() ~= 0
	elseif kind == 5 then
		return n >= 44 and second < 2 and zero(buf, 2, 2) and buf(4, 4):le_uint() ~= 0 and zero(buf, 14, 2)
	elseif kind == 6 then
		return n == 24 and zero(buf, 1, 3) and buf(4, 4):le_uint() ~= 0
	end
	return false
end

-- checksum shows the last four bytes.
local function checksum(buf, tree)
	local at = buf:len() - 4
	local item = tree:add_le(f.checksum, buf(at, 4))
	if p.prefs.checksums then
		local good = crc32c(buf, at) == buf(at, 4):le_uint()
		item:add(f.checksum_good, good):set_generated()
		if not good then item:add_proto_expert_info(bad_checksum) end
	end
end

local function init(buf, tree)
	tree:add(f.mode, buf(1, 1))
	tree:add_le(f.version, buf(2, 2))
	tree:add_le(f.from, buf(4, 4))
	tree:add_le(f.nonce, buf(8, 8))
	if buf:len() < 512 then return "" end
	tree:add_le(f.port, buf(16, 2))
	tree:add(f.cookie, buf(24, 32))
	if zero(buf, 24, 32) then return ", no cookie" end
	if buf(1, 1):uint() ~= 1 then
		tree:add(f.sealed, buf(56))
		return ", sealed"
	end
	tree:add(f.token, buf(56, 16))
	tree:add(f.ciphers, buf(72, 1))
	local name, private = buf(73, 1):uint(), buf(74, 2):le_uint()
	if name > 128 or private > 256 then
		tree:add_proto_expert_info(malformed)
		return ", malformed"
	end
	if private > 0 then tree:add(f.private, buf(76, private)) end
	if name > 0 then tree:add(f.name, buf(76 + private, name)) end
	checksum(buf, tree)
	return ", insecure"
end

local function retry(buf, tree)
	tree:add_le(f.to, buf(4, 4))
	tree:add_le(f.nonce, buf(8, 8))
	tree:add(f.cookie, buf(16, 32))
	return ""
end

local function response(buf, tree)
	tree:add(f.mode, buf(1, 1))
	tree:add_le(f.to, buf(4, 4))
	tree:add_le(f.nonce, buf(8, 8))
	tree:add_le(f.from, buf(16, 4))
	tree:add_le(f.port, buf(20, 2))
	if buf(1, 1):uint() ~= 1 then
		tree:add(f.sealed, buf(24))
		return ", sealed"
	end
	tree:add(f.verdict, buf(24, 1))
	tree:add(f.token, buf(40, 16))
	local reason = buf(26, 1):uint()
	if reason > 128 then
		tree:add_proto_expert_info(malformed)
		return ", malformed"
	end
	if reason > 0 then tree:add(f.reason, buf(56, reason)) end
	checksum(buf, tree)
	return ", " .. (verdicts[buf(24, 1):uint()] or "?")
end

local function refused(buf, tree)
	tree:add(f.code, buf(1, 1))
	tree:add_le(f.version, buf(2, 2))
	tree:add_le(f.to, buf(4, 4))
	tree:add_le(f.nonce, buf(8, 8))
	return ", " .. (codes[buf(1, 1):uint()] or "?")
end

local function reset(buf, tree)
	tree:add_le(f.to, buf(4, 4))
	tree:add(f.token, buf(8, 16))
	return ""
end

-- via shows the header of a packet of the VIA method.
local function via(buf, tree)
	local t = tree:add(buf, "VIA packet header")
	t:add_le(f.via_tag, buf(0, 4))
	t:add_le(f.via_type, buf(4, 4))
	t:add_le(f.via_credits, buf(4, 4))
	t:add_le(f.via_peer, buf(4, 4))
	t:add_le(f.via_seq, buf(8, 4))
	t:add_le(f.via_aux, buf(12, 4))
	local kind = buf(7, 1):uint()
	kind = (kind - kind % 16) / 16
	return types[kind] and ", " .. types[kind] or ""
end

-- segment shows the first segment of a range, and returns how many bytes it has with its
-- data; 0 if it is the last one, or malformed.
local function segment(buf, tree)
	local kind = buf:len() > 0 and buf(0, 1):uint() or 0
	local head = (kind == 2 or kind == 3) and 40 or 24
	if not segments[kind] or buf:len() < head then
		tree:add_proto_expert_info(malformed)
		return ", malformed segment", 0
	end
	local flags, bytes = buf(1, 1):uint(), 0
	local n = buf:len() - head
	if flags >= 2 then
		n = buf(2, 2):le_uint()
		bytes = head + n
		if bytes >= buf:len() then
			tree:add_proto_expert_info(malformed)
			return ", malformed segment", 0
		end
	end
	local t = tree:add(buf(0, head + n), "Segment: " .. segments[kind])
	t:add(f.segment, buf(0, 1))
	t:add(f.has_immediate, buf(1, 1))
	t:add(f.has_next, buf(1, 1))
	if bytes > 0 then t:add_le(f.length, buf(2, 2)) end
	t:add_le(f.message, buf(4, 4))
	if flags % 2 == 1 then
		t:add_le(kind == 6 and f.bye_reason or f.immediate, buf(8, 4))
	end
	t:add_le(f.total, buf(12, 4))
	t:add_le(f.offset, buf(16, 4))
	t:add_le(f.receive, buf(20, 4))
	if head == 40 then
		t:add_le(f.addr, buf(24, 8))
		t:add_le(f.handle, buf(32, 8))
	end
	local info = string.format(", %s %u, offset %u of %u", segments[kind], buf(4, 4):le_uint(), buf(16, 4):le_uint(), buf(12, 4):le_uint())
	if n > 0 then t:add(f.data, buf(head, n)) end
	if kind == 1 and n >= 16 and buf(16, 4):le_uint() == 0 then
		info = info .. via(buf(head, 16), t)
	end
	return info, bytes
end

-- transport shows the contents of a PACKET that is not sealed.
local function transport(buf, tree)
	local t = tree:add(buf(16, 24), "Transport")
	local flags, n = buf(16, 1):uint(), buf(17, 1):uint()
	local item = t:add(f.flags, buf(16, 1))
	item:add(f.has_segment, buf(16, 1))
	item:add(f.has_ack, buf(16, 1))
	item:add(f.answer, buf(16, 1))
	item:add(f.has_echo, buf(16, 1))
	local info = ""
	if flags % 2 == 1 then
		t:add_le(f.seq, buf(20, 4))
		info = info .. ", seq " .. buf(20, 4):le_uint()
	end
	if flags % 4 >= 2 then
		t:add_le(f.ack, buf(24, 4))
		info = info .. ", ack " .. buf(24, 4):le_uint()
	end
	t:add_le(f.stamp, buf(28, 4))
	if flags >= 8 then t:add_le(f.echo, buf(32, 4)) end
	local at, stop = 40, buf:len() - 4
	if at + 8 * n > stop then
		t:add_proto_expert_info(malformed)
		return info .. ", malformed"
	end
	for _ = 1, n do
		t:add_le(f.range_first, buf(at, 4))
		t:add_le(f.range_end, buf(at + 4, 4))
		info = info .. string.format(" [%u,%u)", buf(at, 4):le_uint(), buf(at + 4, 4):le_uint())
		at = at + 8
	end
	while flags % 2 == 1 and at < stop do
		local shown, bytes = segment(buf(at, stop - at):tvb(), tree)
		info = info .. shown
		if bytes == 0 then break end
		at = at + bytes
	end
	checksum(buf, tree)
	return info
end

local function packet(buf, tree)
	tree:add(f.lane, buf(1, 1))
	tree:add_le(f.to, buf(4, 4))
	tree:add_le(f.number, buf(8, 8))
	local info = string.format(", %s lane, number %s", lanes[buf(1, 1):uint()] or "?", tostring(buf(8, 8):le_uint64()))
	if insecure(buf) then return info .. transport(buf, tree) end
	tree:add(f.sealed, buf(16))
	return info .. ", sealed"
end

local shows = { init, retry, response, refused, packet, reset }

function p.dissector(buf, pinfo, tree)
	if not ours(buf) then return 0 end
	pinfo.cols.protocol = "Viaduct"
	local kind = buf(0, 1):uint()
	local t = tree:add(p, buf(), "Viaduct UDP NIC, " .. kinds[kind])
	t:add(f.kind, buf(0, 1))
	pinfo.cols.info = kinds[kind] .. shows[kind](buf, t)
	return buf:len()
end

p:register_heuristic("udp", function(buf, pinfo, tree)
	if not ours(buf) then return false end
	p.dissector(buf, pinfo, tree)
	return true
end)

local registered = ""
local udp = DissectorTable.get("udp.port")
function p.prefs_changed()
	if registered == p.prefs.ports then return end
	if registered ~= "" then udp:remove(registered, p) end
	registered = p.prefs.ports
	if registered ~= "" then udp:add(registered, p) end
end
udp:add_for_decode_as(p)
