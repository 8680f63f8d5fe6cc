package proto

func (m *GetConfigReq) Op() Op           { return OpGetConfig }
func (m *GetConfigReq) String() string   { return "GetConfigReq" }
func (m *GetConfigReq) append(w *writer) {}
func (m *GetConfigReq) parse(r *reader)  {}

func (m *GetConfigResp) Op() Op           { return OpGetConfig }
func (m *GetConfigResp) String() string   { return "GetConfigResp" }
func (m *GetConfigResp) append(w *writer) {}
func (m *GetConfigResp) parse(r *reader)  {}

func (m *LookupPathReq) Op() Op           { return OpLookupPath }
func (m *LookupPathReq) String() string   { return "LookupPathReq" }
func (m *LookupPathReq) append(w *writer) {}
func (m *LookupPathReq) parse(r *reader)  {}

func (m *LookupPathResp) Op() Op           { return OpLookupPath }
func (m *LookupPathResp) String() string   { return "LookupPathResp" }
func (m *LookupPathResp) append(w *writer) {}
func (m *LookupPathResp) parse(r *reader)  {}

func (m *GetAttrReq) Op() Op           { return OpGetAttr }
func (m *GetAttrReq) String() string   { return "GetAttrReq" }
func (m *GetAttrReq) append(w *writer) {}
func (m *GetAttrReq) parse(r *reader)  {}

func (m *GetAttrResp) Op() Op           { return OpGetAttr }
func (m *GetAttrResp) String() string   { return "GetAttrResp" }
func (m *GetAttrResp) append(w *writer) {}
func (m *GetAttrResp) parse(r *reader)  {}

func (m *ListAttrReq) Op() Op           { return OpListAttr }
func (m *ListAttrReq) String() string   { return "ListAttrReq" }
func (m *ListAttrReq) append(w *writer) {}
func (m *ListAttrReq) parse(r *reader)  {}

func (m *ListAttrResp) Op() Op           { return OpListAttr }
func (m *ListAttrResp) String() string   { return "ListAttrResp" }
func (m *ListAttrResp) append(w *writer) {}
func (m *ListAttrResp) parse(r *reader)  {}

func (m *SetAttrReq) Op() Op           { return OpSetAttr }
func (m *SetAttrReq) String() string   { return "SetAttrReq" }
func (m *SetAttrReq) append(w *writer) {}
func (m *SetAttrReq) parse(r *reader)  {}

func (m *SetAttrResp) Op() Op           { return OpSetAttr }
func (m *SetAttrResp) String() string   { return "SetAttrResp" }
func (m *SetAttrResp) append(w *writer) {}
func (m *SetAttrResp) parse(r *reader)  {}

func (m *CreateReq) Op() Op           { return OpCreate }
func (m *CreateReq) String() string   { return "CreateReq" }
func (m *CreateReq) append(w *writer) {}
func (m *CreateReq) parse(r *reader)  {}

func (m *CreateResp) Op() Op           { return OpCreate }
func (m *CreateResp) String() string   { return "CreateResp" }
func (m *CreateResp) append(w *writer) {}
func (m *CreateResp) parse(r *reader)  {}

func (m *MkdirReq) Op() Op           { return OpMkdir }
func (m *MkdirReq) String() string   { return "MkdirReq" }
func (m *MkdirReq) append(w *writer) {}
func (m *MkdirReq) parse(r *reader)  {}

func (m *MkdirResp) Op() Op           { return OpMkdir }
func (m *MkdirResp) String() string   { return "MkdirResp" }
func (m *MkdirResp) append(w *writer) {}
func (m *MkdirResp) parse(r *reader)  {}

func (m *BatchCreateReq) Op() Op           { return OpBatchCreate }
func (m *BatchCreateReq) String() string   { return "BatchCreateReq" }
func (m *BatchCreateReq) append(w *writer) {}
func (m *BatchCreateReq) parse(r *reader)  {}

func (m *BatchCreateResp) Op() Op           { return OpBatchCreate }
func (m *BatchCreateResp) String() string   { return "BatchCreateResp" }
func (m *BatchCreateResp) append(w *writer) {}
func (m *BatchCreateResp) parse(r *reader)  {}

func (m *BatchRemoveReq) Op() Op           { return OpBatchRemove }
func (m *BatchRemoveReq) String() string   { return "BatchRemoveReq" }
func (m *BatchRemoveReq) append(w *writer) {}
func (m *BatchRemoveReq) parse(r *reader)  {}

func (m *BatchRemoveResp) Op() Op           { return OpBatchRemove }
func (m *BatchRemoveResp) String() string   { return "BatchRemoveResp" }
func (m *BatchRemoveResp) append(w *writer) {}
func (m *BatchRemoveResp) parse(r *reader)  {}

func (m *RemoveReq) Op() Op           { return OpRemove }
func (m *RemoveReq) String() string   { return "RemoveReq" }
func (m *RemoveReq) append(w *writer) {}
func (m *RemoveReq) parse(r *reader)  {}

func (m *RemoveResp) Op() Op           { return OpRemove }
func (m *RemoveResp) String() string   { return "RemoveResp" }
func (m *RemoveResp) append(w *writer) {}
func (m *RemoveResp) parse(r *reader)  {}

func (m *TreeRemoveReq) Op() Op           { return OpTreeRemove }
func (m *TreeRemoveReq) String() string   { return "TreeRemoveReq" }
func (m *TreeRemoveReq) append(w *writer) {}
func (m *TreeRemoveReq) parse(r *reader)  {}

func (m *TreeRemoveResp) Op() Op           { return OpTreeRemove }
func (m *TreeRemoveResp) String() string   { return "TreeRemoveResp" }
func (m *TreeRemoveResp) append(w *writer) {}
func (m *TreeRemoveResp) parse(r *reader)  {}

func (m *TreeGetFileSizeReq) Op() Op           { return OpTreeGetFileSize }
func (m *TreeGetFileSizeReq) String() string   { return "TreeGetFileSizeReq" }
func (m *TreeGetFileSizeReq) append(w *writer) {}
func (m *TreeGetFileSizeReq) parse(r *reader)  {}

func (m *TreeGetFileSizeResp) Op() Op           { return OpTreeGetFileSize }
func (m *TreeGetFileSizeResp) String() string   { return "TreeGetFileSizeResp" }
func (m *TreeGetFileSizeResp) append(w *writer) {}
func (m *TreeGetFileSizeResp) parse(r *reader)  {}

func (m *TreeGetAttrReq) Op() Op           { return OpTreeGetAttr }
func (m *TreeGetAttrReq) String() string   { return "TreeGetAttrReq" }
func (m *TreeGetAttrReq) append(w *writer) {}
func (m *TreeGetAttrReq) parse(r *reader)  {}

func (m *TreeGetAttrResp) Op() Op           { return OpTreeGetAttr }
func (m *TreeGetAttrResp) String() string   { return "TreeGetAttrResp" }
func (m *TreeGetAttrResp) append(w *writer) {}
func (m *TreeGetAttrResp) parse(r *reader)  {}

func (m *TreeSetAttrReq) Op() Op           { return OpTreeSetAttr }
func (m *TreeSetAttrReq) String() string   { return "TreeSetAttrReq" }
func (m *TreeSetAttrReq) append(w *writer) {}
func (m *TreeSetAttrReq) parse(r *reader)  {}

func (m *TreeSetAttrResp) Op() Op           { return OpTreeSetAttr }
func (m *TreeSetAttrResp) String() string   { return "TreeSetAttrResp" }
func (m *TreeSetAttrResp) append(w *writer) {}
func (m *TreeSetAttrResp) parse(r *reader)  {}

func (m *CrDirentReq) Op() Op           { return OpCrDirent }
func (m *CrDirentReq) String() string   { return "CrDirentReq" }
func (m *CrDirentReq) append(w *writer) {}
func (m *CrDirentReq) parse(r *reader)  {}

func (m *CrDirentResp) Op() Op           { return OpCrDirent }
func (m *CrDirentResp) String() string   { return "CrDirentResp" }
func (m *CrDirentResp) append(w *writer) {}
func (m *CrDirentResp) parse(r *reader)  {}

func (m *RmDirentReq) Op() Op           { return OpRmDirent }
func (m *RmDirentReq) String() string   { return "RmDirentReq" }
func (m *RmDirentReq) append(w *writer) {}
func (m *RmDirentReq) parse(r *reader)  {}

func (m *RmDirentResp) Op() Op           { return OpRmDirent }
func (m *RmDirentResp) String() string   { return "RmDirentResp" }
func (m *RmDirentResp) append(w *writer) {}
func (m *RmDirentResp) parse(r *reader)  {}

func (m *ChDirentReq) Op() Op           { return OpChDirent }
func (m *ChDirentReq) String() string   { return "ChDirentReq" }
func (m *ChDirentReq) append(w *writer) {}
func (m *ChDirentReq) parse(r *reader)  {}

func (m *ChDirentResp) Op() Op           { return OpChDirent }
func (m *ChDirentResp) String() string   { return "ChDirentResp" }
func (m *ChDirentResp) append(w *writer) {}
func (m *ChDirentResp) parse(r *reader)  {}

func (m *ReadDirReq) Op() Op           { return OpReadDir }
func (m *ReadDirReq) String() string   { return "ReadDirReq" }
func (m *ReadDirReq) append(w *writer) {}
func (m *ReadDirReq) parse(r *reader)  {}

func (m *ReadDirResp) Op() Op           { return OpReadDir }
func (m *ReadDirResp) String() string   { return "ReadDirResp" }
func (m *ReadDirResp) append(w *writer) {}
func (m *ReadDirResp) parse(r *reader)  {}

func (m *UnstuffReq) Op() Op           { return OpUnstuff }
func (m *UnstuffReq) String() string   { return "UnstuffReq" }
func (m *UnstuffReq) append(w *writer) {}
func (m *UnstuffReq) parse(r *reader)  {}

func (m *UnstuffResp) Op() Op           { return OpUnstuff }
func (m *UnstuffResp) String() string   { return "UnstuffResp" }
func (m *UnstuffResp) append(w *writer) {}
func (m *UnstuffResp) parse(r *reader)  {}

func (m *TruncateReq) Op() Op           { return OpTruncate }
func (m *TruncateReq) String() string   { return "TruncateReq" }
func (m *TruncateReq) append(w *writer) {}
func (m *TruncateReq) parse(r *reader)  {}

func (m *TruncateResp) Op() Op           { return OpTruncate }
func (m *TruncateResp) String() string   { return "TruncateResp" }
func (m *TruncateResp) append(w *writer) {}
func (m *TruncateResp) parse(r *reader)  {}

func (m *FlushReq) Op() Op           { return OpFlush }
func (m *FlushReq) String() string   { return "FlushReq" }
func (m *FlushReq) append(w *writer) {}
func (m *FlushReq) parse(r *reader)  {}

func (m *FlushResp) Op() Op           { return OpFlush }
func (m *FlushResp) String() string   { return "FlushResp" }
func (m *FlushResp) append(w *writer) {}
func (m *FlushResp) parse(r *reader)  {}

func (m *StatFSReq) Op() Op           { return OpStatFS }
func (m *StatFSReq) String() string   { return "StatFSReq" }
func (m *StatFSReq) append(w *writer) {}
func (m *StatFSReq) parse(r *reader)  {}

func (m *StatFSResp) Op() Op           { return OpStatFS }
func (m *StatFSResp) String() string   { return "StatFSResp" }
func (m *StatFSResp) append(w *writer) {}
func (m *StatFSResp) parse(r *reader)  {}

func (m *IOReq) Op() Op           { return OpIO }
func (m *IOReq) String() string   { return "IOReq" }
func (m *IOReq) append(w *writer) {}
func (m *IOReq) parse(r *reader)  {}

func (m *IOResp) Op() Op           { return OpIO }
func (m *IOResp) String() string   { return "IOResp" }
func (m *IOResp) append(w *writer) {}
func (m *IOResp) parse(r *reader)  {}

func (m *WriteCompletionResp) Op() Op           { return OpWriteCompletion }
func (m *WriteCompletionResp) String() string   { return "WriteCompletionResp" }
func (m *WriteCompletionResp) append(w *writer) {}
func (m *WriteCompletionResp) parse(r *reader)  {}

func (m *SmallIOReq) Op() Op           { return OpSmallIO }
func (m *SmallIOReq) String() string   { return "SmallIOReq" }
func (m *SmallIOReq) append(w *writer) {}
func (m *SmallIOReq) parse(r *reader)  {}

func (m *SmallIOResp) Op() Op           { return OpSmallIO }
func (m *SmallIOResp) String() string   { return "SmallIOResp" }
func (m *SmallIOResp) append(w *writer) {}
func (m *SmallIOResp) parse(r *reader)  {}

func (m *GetEattrReq) Op() Op           { return OpGetEattr }
func (m *GetEattrReq) String() string   { return "GetEattrReq" }
func (m *GetEattrReq) append(w *writer) {}
func (m *GetEattrReq) parse(r *reader)  {}

func (m *GetEattrResp) Op() Op           { return OpGetEattr }
func (m *GetEattrResp) String() string   { return "GetEattrResp" }
func (m *GetEattrResp) append(w *writer) {}
func (m *GetEattrResp) parse(r *reader)  {}

func (m *SetEattrReq) Op() Op           { return OpSetEattr }
func (m *SetEattrReq) String() string   { return "SetEattrReq" }
func (m *SetEattrReq) append(w *writer) {}
func (m *SetEattrReq) parse(r *reader)  {}

func (m *SetEattrResp) Op() Op           { return OpSetEattr }
func (m *SetEattrResp) String() string   { return "SetEattrResp" }
func (m *SetEattrResp) append(w *writer) {}
func (m *SetEattrResp) parse(r *reader)  {}

func (m *DelEattrReq) Op() Op           { return OpDelEattr }
func (m *DelEattrReq) String() string   { return "DelEattrReq" }
func (m *DelEattrReq) append(w *writer) {}
func (m *DelEattrReq) parse(r *reader)  {}

func (m *DelEattrResp) Op() Op           { return OpDelEattr }
func (m *DelEattrResp) String() string   { return "DelEattrResp" }
func (m *DelEattrResp) append(w *writer) {}
func (m *DelEattrResp) parse(r *reader)  {}

func (m *ListEattrReq) Op() Op           { return OpListEattr }
func (m *ListEattrReq) String() string   { return "ListEattrReq" }
func (m *ListEattrReq) append(w *writer) {}
func (m *ListEattrReq) parse(r *reader)  {}

func (m *ListEattrResp) Op() Op           { return OpListEattr }
func (m *ListEattrResp) String() string   { return "ListEattrResp" }
func (m *ListEattrResp) append(w *writer) {}
func (m *ListEattrResp) parse(r *reader)  {}

func (m *AtomicEattrReq) Op() Op           { return OpAtomicEattr }
func (m *AtomicEattrReq) String() string   { return "AtomicEattrReq" }
func (m *AtomicEattrReq) append(w *writer) {}
func (m *AtomicEattrReq) parse(r *reader)  {}

func (m *AtomicEattrResp) Op() Op           { return OpAtomicEattr }
func (m *AtomicEattrResp) String() string   { return "AtomicEattrResp" }
func (m *AtomicEattrResp) append(w *writer) {}
func (m *AtomicEattrResp) parse(r *reader)  {}

func (m *NoopReq) Op() Op           { return OpNoop }
func (m *NoopReq) String() string   { return "NoopReq" }
func (m *NoopReq) append(w *writer) {}
func (m *NoopReq) parse(r *reader)  {}

func (m *NoopResp) Op() Op           { return OpNoop }
func (m *NoopResp) String() string   { return "NoopResp" }
func (m *NoopResp) append(w *writer) {}
func (m *NoopResp) parse(r *reader)  {}

func (m *SetParamReq) Op() Op           { return OpSetParam }
func (m *SetParamReq) String() string   { return "SetParamReq" }
func (m *SetParamReq) append(w *writer) {}
func (m *SetParamReq) parse(r *reader)  {}

func (m *SetParamResp) Op() Op           { return OpSetParam }
func (m *SetParamResp) String() string   { return "SetParamResp" }
func (m *SetParamResp) append(w *writer) {}
func (m *SetParamResp) parse(r *reader)  {}

func (m *IterateHandlesReq) Op() Op           { return OpIterateHandles }
func (m *IterateHandlesReq) String() string   { return "IterateHandlesReq" }
func (m *IterateHandlesReq) append(w *writer) {}
func (m *IterateHandlesReq) parse(r *reader)  {}

func (m *IterateHandlesResp) Op() Op           { return OpIterateHandles }
func (m *IterateHandlesResp) String() string   { return "IterateHandlesResp" }
func (m *IterateHandlesResp) append(w *writer) {}
func (m *IterateHandlesResp) parse(r *reader)  {}

func (m *DspaceInfoReq) Op() Op           { return OpDspaceInfo }
func (m *DspaceInfoReq) String() string   { return "DspaceInfoReq" }
func (m *DspaceInfoReq) append(w *writer) {}
func (m *DspaceInfoReq) parse(r *reader)  {}

func (m *DspaceInfoResp) Op() Op           { return OpDspaceInfo }
func (m *DspaceInfoResp) String() string   { return "DspaceInfoResp" }
func (m *DspaceInfoResp) append(w *writer) {}
func (m *DspaceInfoResp) parse(r *reader)  {}

func (m *PerfMonReq) Op() Op           { return OpPerfMon }
func (m *PerfMonReq) String() string   { return "PerfMonReq" }
func (m *PerfMonReq) append(w *writer) {}
func (m *PerfMonReq) parse(r *reader)  {}

func (m *PerfMonResp) Op() Op           { return OpPerfMon }
func (m *PerfMonResp) String() string   { return "PerfMonResp" }
func (m *PerfMonResp) append(w *writer) {}
func (m *PerfMonResp) parse(r *reader)  {}

func (m *EventMonReq) Op() Op           { return OpEventMon }
func (m *EventMonReq) String() string   { return "EventMonReq" }
func (m *EventMonReq) append(w *writer) {}
func (m *EventMonReq) parse(r *reader)  {}

func (m *EventMonResp) Op() Op           { return OpEventMon }
func (m *EventMonResp) String() string   { return "EventMonResp" }
func (m *EventMonResp) append(w *writer) {}
func (m *EventMonResp) parse(r *reader)  {}

func (m *RemoveObjectReq) Op() Op           { return OpRemoveObject }
func (m *RemoveObjectReq) String() string   { return "RemoveObjectReq" }
func (m *RemoveObjectReq) append(w *writer) {}
func (m *RemoveObjectReq) parse(r *reader)  {}

func (m *RemoveObjectResp) Op() Op           { return OpRemoveObject }
func (m *RemoveObjectResp) String() string   { return "RemoveObjectResp" }
func (m *RemoveObjectResp) append(w *writer) {}
func (m *RemoveObjectResp) parse(r *reader)  {}

func (m *RemoveDirentReq) Op() Op           { return OpRemoveDirent }
func (m *RemoveDirentReq) String() string   { return "RemoveDirentReq" }
func (m *RemoveDirentReq) append(w *writer) {}
func (m *RemoveDirentReq) parse(r *reader)  {}

func (m *RemoveDirentResp) Op() Op           { return OpRemoveDirent }
func (m *RemoveDirentResp) String() string   { return "RemoveDirentResp" }
func (m *RemoveDirentResp) append(w *writer) {}
func (m *RemoveDirentResp) parse(r *reader)  {}

func (m *GetDirdataHandleReq) Op() Op           { return OpGetDirdataHandle }
func (m *GetDirdataHandleReq) String() string   { return "GetDirdataHandleReq" }
func (m *GetDirdataHandleReq) append(w *writer) {}
func (m *GetDirdataHandleReq) parse(r *reader)  {}

func (m *GetDirdataHandleResp) Op() Op           { return OpGetDirdataHandle }
func (m *GetDirdataHandleResp) String() string   { return "GetDirdataHandleResp" }
func (m *GetDirdataHandleResp) append(w *writer) {}
func (m *GetDirdataHandleResp) parse(r *reader)  {}

func (m *GetDirentReq) Op() Op           { return OpGetDirent }
func (m *GetDirentReq) String() string   { return "GetDirentReq" }
func (m *GetDirentReq) append(w *writer) {}
func (m *GetDirentReq) parse(r *reader)  {}

func (m *GetDirentResp) Op() Op           { return OpGetDirent }
func (m *GetDirentResp) String() string   { return "GetDirentResp" }
func (m *GetDirentResp) append(w *writer) {}
func (m *GetDirentResp) parse(r *reader)  {}

func (m *CreateRootDirReq) Op() Op           { return OpCreateRootDir }
func (m *CreateRootDirReq) String() string   { return "CreateRootDirReq" }
func (m *CreateRootDirReq) append(w *writer) {}
func (m *CreateRootDirReq) parse(r *reader)  {}

func (m *CreateRootDirResp) Op() Op           { return OpCreateRootDir }
func (m *CreateRootDirResp) String() string   { return "CreateRootDirResp" }
func (m *CreateRootDirResp) append(w *writer) {}
func (m *CreateRootDirResp) parse(r *reader)  {}

func (m *GetUIDReq) Op() Op           { return OpGetUID }
func (m *GetUIDReq) String() string   { return "GetUIDReq" }
func (m *GetUIDReq) append(w *writer) {}
func (m *GetUIDReq) parse(r *reader)  {}

func (m *GetUIDResp) Op() Op           { return OpGetUID }
func (m *GetUIDResp) String() string   { return "GetUIDResp" }
func (m *GetUIDResp) append(w *writer) {}
func (m *GetUIDResp) parse(r *reader)  {}

func (m *SplitDirentReq) Op() Op           { return OpSplitDirent }
func (m *SplitDirentReq) String() string   { return "SplitDirentReq" }
func (m *SplitDirentReq) append(w *writer) {}
func (m *SplitDirentReq) parse(r *reader)  {}

func (m *SplitDirentResp) Op() Op           { return OpSplitDirent }
func (m *SplitDirentResp) String() string   { return "SplitDirentResp" }
func (m *SplitDirentResp) append(w *writer) {}
func (m *SplitDirentResp) parse(r *reader)  {}

func (m *MirrorReq) Op() Op           { return OpMirror }
func (m *MirrorReq) String() string   { return "MirrorReq" }
func (m *MirrorReq) append(w *writer) {}
func (m *MirrorReq) parse(r *reader)  {}

func (m *MirrorResp) Op() Op           { return OpMirror }
func (m *MirrorResp) String() string   { return "MirrorResp" }
func (m *MirrorResp) append(w *writer) {}
func (m *MirrorResp) parse(r *reader)  {}

func (m *ImmCopiesReq) Op() Op           { return OpImmCopies }
func (m *ImmCopiesReq) String() string   { return "ImmCopiesReq" }
func (m *ImmCopiesReq) append(w *writer) {}
func (m *ImmCopiesReq) parse(r *reader)  {}

func (m *ImmCopiesResp) Op() Op           { return OpImmCopies }
func (m *ImmCopiesResp) String() string   { return "ImmCopiesResp" }
func (m *ImmCopiesResp) append(w *writer) {}
func (m *ImmCopiesResp) parse(r *reader)  {}

func (m *ProtoErrorResp) Op() Op           { return OpProtoError }
func (m *ProtoErrorResp) String() string   { return "ProtoErrorResp" }
func (m *ProtoErrorResp) append(w *writer) {}
func (m *ProtoErrorResp) parse(r *reader)  {}
