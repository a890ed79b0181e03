import {
  type AccountFields,
  createCustomCommon,
  Hardfork,
  Mainnet,
  type StateManagerInterface,
} from '@ethereumjs/common'
import { createEVM, type EVMOpts, type PrecompileInput } from '@ethereumjs/evm'
import { Account, Address } from '@ethereumjs/util'
import { bytesToHex, fromRlp, type Hex, hexToBytes, keccak256, numberToBytes, pad, slice, trim } from 'viem'
import { LENS_ADDRESS } from '../../chain/call/bundle/bundle.ts'
import { type BlockHeader, decodeHeader } from '../../chain/receipt/header.ts'
import type { StorageWord } from '../../chain/rpc/client.ts'
import { parseLowerAddress, parseLowerBytes } from '../../chain/rpc/value.ts'
import type { MissingState, ProofJob, ProofRun, ProvenCall, StateProof } from './job.ts'
import { createNodeSet, findTrieValue, incompleteProofError, isIncompleteProof, ProofError } from './lookup.ts'

/** Precompile that gives block numbers and hashes on Arbitrum chains; its deployed code is a lone INVALID. */
const ARB_SYS: Hex = '0x0000000000000000000000000000000000000064'
const ARB_SYS_CODE_HASH: Hex = keccak256('0xfe')
const ARB_BLOCK_NUMBER: Hex = '0xa3b1b31d'
const ARB_BLOCK_HASH: Hex = '0x2b407a82'
/** Bytes of `mixHash` in which Arbitrum headers hold the height that the NUMBER opcode gives, which is Ethereum's. */
const HEIGHT_SEEN = [8, 16] as const

/** Runs calls over a proof alone. Throws `ProofError` if it lacks what a call reads, or if the proof is malformed. */
export async function runProof({ chainId, proof, calls, explores }: ProofJob): Promise<ProofRun> {
  const header = decodeHeader(proof.header)
  const base = createProvenState(proof, header.stateRoot, explores)
  const answers: (Hex | undefined)[] = []
  for (const call of calls) answers.push(await runCall(call, { chainId, header, base }))
  return { answers, missing: base.getMissing(), ...base.getUsed() }
}

interface RunContext {
  readonly chainId: number
  readonly header: BlockHeader
  readonly base: ProvenState
}

async function runCall(
  { runtime, data, additionalCodes = {}, storage = [], gas }: ProvenCall,
  { chainId, header, base }: RunContext,
): Promise<Hex | undefined> {
  const state = new CallState(base)
  const lens = new Address(hexToBytes(LENS_ADDRESS))
  await state.putAccount(lens, new Account())
  await state.putCode(lens, hexToBytes(runtime))
  for (const [address, code] of Object.entries(additionalCodes)) {
    await state.putCode(new Address(hexToBytes(address as Hex)), hexToBytes(code))
  }
  for (const { address, slot, word } of storage) {
    state.giveWord(address, { slot, word })
  }
  const arbSys = base.getAccount(ARB_SYS)
  const isArbitrum = arbSys !== undefined && bytesToHex(arbSys.codeHash) === ARB_SYS_CODE_HASH
  const [from, to] = HEIGHT_SEEN
  const height = isArbitrum ? BigInt(slice(header.mixHash, from, to)) : header.number
  const customPrecompiles: NonNullable<EVMOpts['customPrecompiles']> = isArbitrum
    ? [{ address: ARB_SYS, function: (input) => askArbSys(input, header) }]
    : []
  const evm = await createEVM({
    // The rules are those of Ethereum's newest fork: an older block's calls may give other bytes, which are refused.
    common: createCustomCommon({ chainId }, Mainnet, { hardfork: Hardfork.Osaka }),
    stateManager: state,
    blockchain: createBlockchain(height, header),
    customPrecompiles,
    allowUnlimitedContractSize: true,
  })
  const { execResult } = await evm.runCall({
    to: lens,
    data: hexToBytes(data),
    gasLimit: BigInt(gas),
    skipNonceIncrement: true,
    block: {
      header: {
        number: height,
        coinbase: new Address(hexToBytes(header.miner)),
        timestamp: header.timestampSec,
        difficulty: header.difficulty,
        prevRandao: hexToBytes(header.mixHash),
        gasLimit: header.gasLimit,
        baseFeePerGas: header.baseFee,
        getBlobGasPrice: () => {
          throw new ProofError('a contract asks for the fee of blobs')
        },
      },
    },
  })
  return execResult.exceptionError === undefined ? bytesToHex(execResult.returnValue) : undefined
}

/** Creates a blockchain with one hash, that of the parent: a header proves no other. */
function createBlockchain(height: bigint, { parentHash }: BlockHeader): NonNullable<EVMOpts['blockchain']> {
  return {
    async getBlock(number) {
      if (BigInt(number) !== height - 1n) throw new ProofError('a contract asks for the hash of an older block')
      return { hash: () => hexToBytes(parentHash) }
    },
    async putBlock() {},
    shallowCopy() {
      return this
    },
  }
}

/** Answers a call of ArbSys as Nitro does: https://docs.arbitrum.io/build-decentralized-apps/precompiles/reference */
function askArbSys({ data }: PrecompileInput, { number, parentHash }: BlockHeader) {
  const question = bytesToHex(data)
  const answer = (returnValue: Uint8Array) => ({ executionGasUsed: 0n, returnValue })
  if (question === ARB_BLOCK_NUMBER) return answer(numberToBytes(number, { size: 32 }))
  const isParentHashCall = question.startsWith(ARB_BLOCK_HASH) && BigInt(`0x${question.slice(10)}`) === number - 1n
  if (isParentHashCall) return answer(hexToBytes(parentHash))
  throw new ProofError('a contract asks ArbSys for what a header does not hold')
}

const NO_CODE: Hex = keccak256('0x')
const NOTHING = new Uint8Array(0)

/** The part of a block's state that a proof contains. */
type ProvenState = ReturnType<typeof createProvenState>

/**
 * Creates a reader of a proof against a state root. Missing state throws `ProofError`; with `explores` it is
 * listed and read as empty.
 */
function createProvenState({ nodes: bytes, codes }: StateProof, stateRoot: Hex, explores: boolean) {
  const nodes = createNodeSet(bytes)
  const codesByHash = new Map(codes.map((code, index) => [keccak256(code), { index, bytes: hexToBytes(code) }]))
  const usedCodes = new Set<number>()
  const missingSlots = new Map<Hex, Set<Hex>>()
  const missingCodes = new Map<Hex, Hex>()
  const accounts = new Map<Hex, Account | undefined>()
  /** Cached slots: contracts read the same ones repeatedly. */
  const slots = new Map<string, Uint8Array>()

  function readOrNote<T>(read: () => T, noteMissing: () => void): T | undefined {
    try {
      return read()
    } catch (error) {
      if (!explores || !isIncompleteProof(error)) throw error
      noteMissing()
      return undefined
    }
  }

  function addMissingSlots(address: Hex, ...slots: readonly Hex[]): void {
    missingSlots.set(address, new Set([...(missingSlots.get(address) ?? []), ...slots]))
  }

  function account(address: Hex): Account | undefined {
    if (!accounts.has(address)) {
      const value = readOrNote(
        () => findTrieValue(nodes, stateRoot, keccak256(address)),
        () => addMissingSlots(address),
      )
      accounts.set(address, value === undefined ? undefined : decodeAccount(value))
    }
    return accounts.get(address)
  }

  function readSlot(address: Hex, slot: Hex): Uint8Array {
    const holder = account(address)
    if (holder === undefined) {
      if (missingSlots.has(address)) addMissingSlots(address, slot)
      return NOTHING
    }
    const value = readOrNote(
      () => findTrieValue(nodes, bytesToHex(holder.storageRoot), keccak256(slot)),
      () => addMissingSlots(address, slot),
    )
    const word = value === undefined ? '0x' : fromRlp(value)
    if (typeof word !== 'string') throw new TypeError('Expected the value of a slot')
    return hexToBytes(word)
  }

  return {
    getAccount: account,
    getSlot(address: Hex, slot: Hex): Uint8Array {
      const key = `${address} ${slot}`
      const cached = slots.get(key)
      if (cached !== undefined) return cached
      const value = readSlot(address, slot)
      slots.set(key, value)
      return value
    },
    getCode(address: Hex, hash: Hex): Uint8Array {
      if (hash === NO_CODE) return NOTHING
      const entry = codesByHash.get(hash)
      if (entry !== undefined) {
        usedCodes.add(entry.index)
        return entry.bytes
      }
      if (!explores) throw incompleteProofError()
      missingCodes.set(address, hash)
      return NOTHING
    },
    getMissing: (): MissingState => ({
      accounts: Object.fromEntries([...missingSlots].map(([address, slots]) => [address, [...slots]])),
      codes: Object.fromEntries(missingCodes),
    }),
    getUsed: () => ({ slots: slots.size, nodes: [...nodes.used], codes: [...usedCodes] }),
  }
}

function decodeAccount(value: Hex): Account {
  const fields = fromRlp(value)
  if (!Array.isArray(fields) || fields.length !== 4) throw new TypeError('Expected an account')
  const [nonce, balance, storageRoot, codeHash] = fields.map(parseLowerBytes)
  const toNumber = (text: Hex = '0x') => (text === '0x' ? 0n : BigInt(text))
  return new Account(toNumber(nonce), toNumber(balance), hexToBytes(storageRoot ?? '0x'), hexToBytes(codeHash ?? '0x'))
}

/** Writes of one call over a proven state, with checkpoints. Reads fall through to the proven state. */
class CallState implements StateManagerInterface {
  readonly #base: ProvenState
  readonly #accounts = new Map<Hex, Account | undefined>()
  readonly #codes = new Map<Hex, Uint8Array>()
  readonly #slots = new Map<string, Uint8Array>()
  /** Words that slots have before the call, in place of the block's. */
  readonly #given = new Map<string, Uint8Array>()
  /** Functions that undo the writes since each checkpoint. */
  readonly #undo: (() => void)[][] = [[]]

  constructor(base: ProvenState) {
    this.#base = base
  }

  readonly originalStorageCache = {
    get: async (address: Address, key: Uint8Array) => this.#getOriginal(toHex(address), bytesToHex(key)),
    clear() {},
  }

  /** Gives a slot another word than it has in the block. */
  giveWord(address: Hex, { slot, word }: Pick<StorageWord, 'slot' | 'word'>): void {
    // As states hold words: without leading zeros.
    this.#given.set(`${parseLowerAddress(address)} ${slot}`, hexToBytes(trim(word)))
  }

  async getAccount(address: Address): Promise<Account | undefined> {
    const name = toHex(address)
    const account = this.#accounts.has(name) ? this.#accounts.get(name) : this.#base.getAccount(name)
    return account && copyAccount(account)
  }

  async putAccount(address: Address, account?: Account): Promise<void> {
    this.#write(this.#accounts, toHex(address), account && copyAccount(account))
  }

  async deleteAccount(address: Address): Promise<void> {
    this.#write(this.#accounts, toHex(address), undefined)
  }

  async modifyAccountFields(address: Address, fields: AccountFields): Promise<void> {
    const account = (await this.getAccount(address)) ?? new Account()
    const { nonce, balance, storageRoot, codeHash } = fields
    if (nonce !== undefined) account.nonce = nonce
    if (balance !== undefined) account.balance = balance
    if (storageRoot !== undefined) account.storageRoot = storageRoot
    if (codeHash !== undefined) account.codeHash = codeHash
    await this.putAccount(address, account)
  }

  async putCode(address: Address, code: Uint8Array): Promise<void> {
    this.#write(this.#codes, toHex(address), code)
    await this.modifyAccountFields(address, { codeHash: keccak256(code, 'bytes') })
  }

  async getCode(address: Address): Promise<Uint8Array> {
    const name = toHex(address)
    const written = this.#codes.get(name)
    if (written !== undefined) return written
    const account = await this.getAccount(address)
    return account === undefined ? NOTHING : this.#base.getCode(name, bytesToHex(account.codeHash))
  }

  async getCodeSize(address: Address): Promise<number> {
    return (await this.getCode(address)).length
  }

  async getStorage(address: Address, key: Uint8Array): Promise<Uint8Array> {
    const name = toHex(address)
    return this.#slots.get(getSlotKey(name, key)) ?? this.#getOriginal(name, pad(bytesToHex(key)))
  }

  async putStorage(address: Address, key: Uint8Array, value: Uint8Array): Promise<void> {
    this.#write(this.#slots, getSlotKey(toHex(address), key), value)
  }

  /** Does nothing: it is called for new contracts only, whose storage is empty. */
  async clearStorage(): Promise<void> {}

  async checkpoint(): Promise<void> {
    this.#undo.push([])
  }

  async commit(): Promise<void> {
    const done = this.#undo.pop() ?? []
    this.#undo.at(-1)?.push(...done)
  }

  async revert(): Promise<void> {
    for (const undoWrite of (this.#undo.pop() ?? []).reverse()) undoWrite()
  }

  clearCaches(): void {}

  getStateRoot(): Promise<Uint8Array> {
    throw new Error('The state after a call has no root')
  }

  setStateRoot(): Promise<void> {
    throw new Error('The state of a proof is of one block')
  }

  hasStateRoot(): Promise<boolean> {
    throw new Error('The state of a proof is of one block')
  }

  shallowCopy(): StateManagerInterface {
    throw new Error('The state of a call is not copied')
  }

  #getOriginal(address: Hex, slot: Hex): Uint8Array {
    return this.#given.get(`${address} ${slot}`) ?? this.#base.getSlot(address, slot)
  }

  #write<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
    const wasPresent = map.has(key)
    const previous = map.get(key)
    this.#undo.at(-1)?.push(() => {
      if (wasPresent) map.set(key, previous as Value)
      else map.delete(key)
    })
    map.set(key, value)
  }
}

function toHex(address: Address): Hex {
  return bytesToHex(address.bytes)
}

function getSlotKey(address: Hex, key: Uint8Array): string {
  return `${address} ${bytesToHex(key)}`
}

function copyAccount({ nonce, balance, storageRoot, codeHash }: Account): Account {
  return new Account(nonce, balance, storageRoot, codeHash)
}

/** Analysis of a code that the library makes before the first jump: targets, pushed words, operations. */
type Analysis = object

interface Interpreter {
  _getValidJumpDestinations(code: Uint8Array): Analysis
}

/** An operation that Ethereum does not have. */
const UNUSED = 0x0c

/**
 * Makes the library analyze a code once instead of at every call, and caches the analysis while the code is referenced:
 * lists call the same few contracts for each position, and the analysis dominated a proof's time. The analysis depends
 * on the hardfork too, which is the same for all proofs. Throws if the library no longer has the patched method.
 */
export async function cacheCodeAnalysis(): Promise<void> {
  const interpreter = await findInterpreter()
  const analyze = interpreter._getValidJumpDestinations
  if (typeof analyze !== 'function') throw new TypeError('Expected an interpreter that analyzes codes')
  const analyses = new WeakMap<Uint8Array, Analysis>()
  interpreter._getValidJumpDestinations = function (code) {
    const cached = analyses.get(code)
    if (cached !== undefined) return cached
    const analysis = analyze.call(this, code)
    analyses.set(code, analysis)
    return analysis
  }
}

/** Returns the prototype of the library's interpreters, which is reachable only from a custom operation. */
export async function findInterpreter(): Promise<Interpreter> {
  let prototype: object | undefined
  const evm = await createEVM({
    customOpcodes: [
      {
        opcode: UNUSED,
        opcodeName: 'FIND',
        baseFee: 0,
        logicFunction: ({ interpreter }) => {
          prototype = Object.getPrototypeOf(interpreter)
        },
      },
    ],
  })
  await evm.runCode({ code: Uint8Array.of(UNUSED), gasLimit: 1n })
  if (prototype === undefined) throw new TypeError('Expected an interpreter')
  return prototype as Interpreter
}
