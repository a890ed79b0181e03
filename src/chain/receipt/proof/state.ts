import type { AccountFields, StateManagerInterface } from '@ethereumjs/common'
import { Account, type Address } from '@ethereumjs/util'
import { bytesToHex, fromRlp, type Hex, hexToBytes, keccak256, pad } from 'viem'
import { parseLowerBytes } from '../../rpc/value.ts'
import type { MissingState, StateProof } from './job.ts'
import { createNodeSet, findTrieValue, MissingNodeError } from './lookup.ts'

const NO_CODE: Hex = keccak256('0x')
const NOTHING = new Uint8Array(0)

/** State of a block as far as a proof holds it. */
export type ProvenState = ReturnType<typeof createProvenState>

/**
 * Opens a proof against the root of a state. What it lacks ends the reading with `MissingNodeError`, or is listed and
 * read as nothing if `explores`.
 */
export function createProvenState({ nodes: bytes, codes }: StateProof, stateRoot: Hex, explores: boolean) {
  const nodes = createNodeSet(bytes)
  const codeAt = new Map(codes.map((code, index) => [keccak256(code), { index, bytes: hexToBytes(code) }]))
  const usedCodes = new Set<number>()
  const lackingSlots = new Map<Hex, Set<Hex>>()
  const lackingCodes = new Map<Hex, Hex>()
  const accounts = new Map<Hex, Account | undefined>()
  /** Every slot that was read, by account: contracts read the same ones again and again. */
  const slots = new Map<string, Uint8Array>()

  function unless<T>(read: () => T, lack: () => void): T | undefined {
    try {
      return read()
    } catch (error) {
      if (!explores || !(error instanceof MissingNodeError)) throw error
      lack()
      return undefined
    }
  }

  function lackSlots(address: Hex, ...slots: readonly Hex[]): void {
    lackingSlots.set(address, new Set([...(lackingSlots.get(address) ?? []), ...slots]))
  }

  function account(address: Hex): Account | undefined {
    if (!accounts.has(address)) {
      const value = unless(
        () => findTrieValue(nodes, stateRoot, keccak256(address)),
        () => lackSlots(address),
      )
      accounts.set(address, value === undefined ? undefined : accountOf(value))
    }
    return accounts.get(address)
  }

  function readSlot(address: Hex, slot: Hex): Uint8Array {
    const found = account(address)
    if (found === undefined) {
      if (lackingSlots.has(address)) lackSlots(address, slot)
      return NOTHING
    }
    const value = unless(
      () => findTrieValue(nodes, bytesToHex(found.storageRoot), keccak256(slot)),
      () => lackSlots(address, slot),
    )
    const word = value === undefined ? '0x' : fromRlp(value)
    if (typeof word !== 'string') throw new TypeError('Expected the value of a slot')
    return hexToBytes(word)
  }

  return {
    account,
    storage(address: Hex, slot: Hex): Uint8Array {
      const name = `${address} ${slot}`
      const known = slots.get(name)
      if (known !== undefined) return known
      const value = readSlot(address, slot)
      slots.set(name, value)
      return value
    },
    code(address: Hex, hash: Hex): Uint8Array {
      if (hash === NO_CODE) return NOTHING
      const found = codeAt.get(hash)
      if (found !== undefined) {
        usedCodes.add(found.index)
        return found.bytes
      }
      if (!explores) throw new MissingNodeError('The proof lacks a code')
      lackingCodes.set(address, hash)
      return NOTHING
    },
    lacking: (): MissingState => ({
      accounts: Object.fromEntries([...lackingSlots].map(([address, slots]) => [address, [...slots]])),
      codes: Object.fromEntries(lackingCodes),
    }),
    used: () => ({ slots: slots.size, nodes: [...nodes.used], codes: [...usedCodes] }),
  }
}

function accountOf(value: Hex): Account {
  const fields = fromRlp(value)
  if (!Array.isArray(fields) || fields.length !== 4) throw new TypeError('Expected an account')
  const [nonce, balance, storageRoot, codeHash] = fields.map(parseLowerBytes)
  const number = (text: Hex = '0x') => (text === '0x' ? 0n : BigInt(text))
  return new Account(number(nonce), number(balance), hexToBytes(storageRoot ?? '0x'), hexToBytes(codeHash ?? '0x'))
}

/** What one call writes over a proven state, with its checkpoints: what is read goes through to the state. */
export class CallState implements StateManagerInterface {
  readonly #base: ProvenState
  readonly #accounts = new Map<Hex, Account | undefined>()
  readonly #codes = new Map<Hex, Uint8Array>()
  readonly #slots = new Map<string, Uint8Array>()
  /** How to take back what was written since each checkpoint. */
  readonly #undo: (() => void)[][] = [[]]

  constructor(base: ProvenState) {
    this.#base = base
  }

  readonly originalStorageCache = {
    get: async (address: Address, key: Uint8Array) => this.#base.storage(hexOf(address), bytesToHex(key)),
    clear() {},
  }

  async getAccount(address: Address): Promise<Account | undefined> {
    const name = hexOf(address)
    const found = this.#accounts.has(name) ? this.#accounts.get(name) : this.#base.account(name)
    return found && copyOf(found)
  }

  async putAccount(address: Address, account?: Account): Promise<void> {
    this.#write(this.#accounts, hexOf(address), account && copyOf(account))
  }

  async deleteAccount(address: Address): Promise<void> {
    this.#write(this.#accounts, hexOf(address), undefined)
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
    this.#write(this.#codes, hexOf(address), code)
    await this.modifyAccountFields(address, { codeHash: keccak256(code, 'bytes') })
  }

  async getCode(address: Address): Promise<Uint8Array> {
    const name = hexOf(address)
    const written = this.#codes.get(name)
    if (written !== undefined) return written
    const account = await this.getAccount(address)
    return account === undefined ? NOTHING : this.#base.code(name, bytesToHex(account.codeHash))
  }

  async getCodeSize(address: Address): Promise<number> {
    return (await this.getCode(address)).length
  }

  async getStorage(address: Address, key: Uint8Array): Promise<Uint8Array> {
    const name = hexOf(address)
    return this.#slots.get(slotName(name, key)) ?? this.#base.storage(name, pad(bytesToHex(key)))
  }

  async putStorage(address: Address, key: Uint8Array, value: Uint8Array): Promise<void> {
    this.#write(this.#slots, slotName(hexOf(address), key), value)
  }

  /** Asked for new contracts, whose address nothing was written at before. */
  async clearStorage(): Promise<void> {}

  async checkpoint(): Promise<void> {
    this.#undo.push([])
  }

  async commit(): Promise<void> {
    const done = this.#undo.pop() ?? []
    this.#undo.at(-1)?.push(...done)
  }

  async revert(): Promise<void> {
    for (const back of (this.#undo.pop() ?? []).reverse()) back()
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

  #write<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
    const had = map.has(key)
    const before = map.get(key)
    this.#undo.at(-1)?.push(() => {
      if (had) map.set(key, before as Value)
      else map.delete(key)
    })
    map.set(key, value)
  }
}

function hexOf(address: Address): Hex {
  return bytesToHex(address.bytes)
}

function slotName(address: Hex, key: Uint8Array): string {
  return `${address} ${bytesToHex(key)}`
}

function copyOf({ nonce, balance, storageRoot, codeHash }: Account): Account {
  return new Account(nonce, balance, storageRoot, codeHash)
}
