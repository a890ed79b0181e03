import type { Address } from 'viem'
import { VAULT_KINDS, VAULT_ROWS, type VaultKind } from '../../finance/price/table/vaults.ts'

/** Contracts that tell which code is Morpho's: a vault, or an adapter that a vault withdraws through. */
export const REGISTRY_KINDS = ['metamorpho_factory', 'morpho_vault_v2_factory', 'morpho_adapter_registry'] as const

/** What an entry is: how shares of a vault go back, or a registry. */
export const ENTRY_KINDS = [...VAULT_KINDS, ...REGISTRY_KINDS] as const

/** A vault, or a registry that tells of vaults. `named`: by a caller, so that it is one only if a factory made it. */
export interface VaultEntry {
  readonly address: Address
  readonly kind: (typeof ENTRY_KINDS)[number] | typeof NAMED
  /** A block before which it has no events; absent or 0 if that is not known. */
  readonly startBlock?: number
}

const NAMED = 'named'

/** An entry that is a vault. */
export interface VaultCandidate extends VaultEntry {
  readonly kind: VaultKind | typeof NAMED
}

/** A vault that its table or a factory knows. */
export interface ListedVault extends VaultEntry {
  readonly kind: VaultKind
}

/** True for an entry that is a vault. */
export function isVault(entry: VaultEntry): entry is VaultCandidate {
  return entry.kind === NAMED || VAULT_KINDS.some((kind) => kind === entry.kind)
}

/** MetaMorpho's factory, that of Morpho Vault V2, and the registry of its adapters. */
type MorphoRow = readonly [metaMorpho: Address | undefined, vaultV2: Address | undefined, adapters: Address | undefined]

/**
 * Morpho's registries by chain id, by `@morpho-org/morpho-ts` 2.8.0. It has no factory of MetaMorpho 1.0, whose vaults are
 * here like any other.
 */
const MORPHO_ROWS: Readonly<Record<number, MorphoRow>> = {
  1: [
    '0x1897A8997241C1cD4bD0698647e4EB7213535c24',
    '0xA1D94F746dEfa1928926b84fB2596c06926C0405',
    '0x3696c5eAe4a7Ffd04Ea163564571E9CD8Ed9364e',
  ],
  10: [
    '0x3Bb6A6A0Bc85b367EFE0A5bAc81c5E52C892839a',
    '0x6128b680b277Bf4Df80DFE9D8c55A498660870ef',
    '0xD1346be260cd22Eab9E6163010b0D5CbfAAAD32b',
  ],
  14: [undefined, '0x6FC83ECc0e8142635D77200e5052be8A0a9D2f42', '0x9730d0B30d9145B66a8e09D26295e36cb84F64a9'],
  25: [
    '0xEA67e5566Ca2c0176d9db172A7f9A1e1F22E9D3A',
    '0x05519a0835a1bFD90f110aA7ca46e9A5F81Ed3b4',
    '0x295e0aB80f8234398cd0E51C85D873ee69E5F0DD',
  ],
  50: [undefined, '0x227544d6989cD15c05AAB6dde4F29523dcfdbe2B', '0x79A8C4e9E502C1867cAf2E7202f0C6b89aaCd5c1'],
  56: ['0x92983687e672cA6d96530f9Dbe11a196cE905d72', undefined, undefined],
  130: [
    '0xe9EdE3929F43a7062a007C3e8652e4ACa610Bdc0',
    '0xC9b34c108014B44e5a189A830e7e04c56704a0c9',
    '0xB9130D2A87d7c60ED7E7e4b25bdA6e3E6841becB',
  ],
  137: [
    '0xa9c87daB340631C34BB738625C70499e29ddDC98',
    '0xC11a53eE9B1eCc7a068D8e40F8F17926584F97Cf',
    '0xb70a43821d2707fA9d0EDd9511CC499F468Ba564',
  ],
  143: [
    '0x33f20973275B2F574488b18929cd7DCBf1AbF275',
    '0x8B2F922162FBb60A6a072cC784A2E4168fB0bb0c',
    '0x6a42f8b46224baA4DbBBc2F860F4675eeA7bd52B',
  ],
  146: ['0x0cE9e3512CB4df8ae7e265e62Fb9258dc14f12e8', undefined, undefined],
  239: ['0xcDA78f4979d17Ec93052A84A12001fe0088AD734', undefined, undefined],
  252: ['0x27D4Af0AC9E7FDfA6D0853236f249CC27AE79488', undefined, undefined],
  480: [
    '0x4DBB3a642a2146d5413750Cca3647086D9ba5F12',
    '0x6846EA318B6B987Ee6b28eBFd87c3409F1d13108',
    '0x06A47994B4890dcA28C076969cedE1151d86EFCF',
  ],
  714: [undefined, '0x9aaCAA01F5e6BC876D07f023744E3E0A456a64cf', '0xB78BA19a8Bf3202DA7036ec1830222FDC5e0297e'],
  988: [
    '0xb4ae5673c48621189E2bEfBA96F31912032DD1AE',
    '0x7fc35488803D49D00a94b206A223f7661898BE3a',
    '0xCe93fcB2849EB886F1e81d45D2747dF803f843C3',
  ],
  999: [
    '0xec051b19d654C48c357dC974376DeB6272f24e53',
    '0xD7217E5687FF1071356C780b5fe4803D9D967da7',
    '0x857B55cEb57dA0C2A83EE08a8dB529B931089aee',
  ],
  1135: ['0x01dD876130690469F685a65C2B295A90a81BaD91', undefined, undefined],
  1329: ['0x8Dea49ec5bd5AeAc8bcf96B3E187F59354118291', undefined, undefined],
  1672: [undefined, '0x8E01ed1E1A41029b3137FcE9Aa880c0A54827498', '0xbe858d729548eB49BbFA05Acd3674ca8cdaAdD4b'],
  1868: ['0x7026b436f294e560b3C26E731f5cac5992cA2B33', undefined, undefined],
  2741: ['0x83A7f60c9fc57cEf1e8001bda98783AA1A53E4b1', undefined, undefined],
  2818: [undefined, '0x7D8BF8B276f967F7539c9e91E1a85a33fefE612B', '0x553c013d1978CF82EF6b316f5c247B73718ba481'],
  4217: [undefined, '0x3DE400E3F79113194fa5AF6Ae5C474947E0C82Db', '0xB118227C728b5ce52445a5aAee48C8a281C429E0'],
  4326: [undefined, '0xf133FA5A78C398B31Cc4a180E6Ae84111D6DCF5B', '0x3aE18af9717C734820137726967bef4fBc5Ec95c'],
  4663: [undefined, '0x0FBad98595b0186dA120E41f77C102beb49f803c', '0xe785a2eFD384BA7B95BaEd3851BC76aeD67C676f'],
  5042: [undefined, '0x3b0eefaBfa22ec7CF2c73877ac16e78D76749f12', '0xdEBC92370Cd74d55DA144116138681dbbb528765'],
  8217: [undefined, '0xf2Aecd4a4d4C21d08770e34F392C4C271aBD9144', '0xfCA12228DA5fba6E9c0B57a8e8322d0eBaCa03Bc'],
  8453: [
    '0xFf62A7c278C62eD665133147129245053Bbf5918',
    '0x4501125508079A99ebBebCE205DeC9593C2b5857',
    '0x5C2531Cbd2cf112Cf687da3Cd536708aDd7DB10a',
  ],
  16661: ['0x41528AadC7314658b07Ca6e7213B9b77289B477f', undefined, undefined],
  34443: ['0xae5b0884bfff430493D6C844B9fd052Af7d79278', undefined, undefined],
  42161: [
    '0x878988f5f561081deEa117717052164ea1Ef0c82',
    '0x6b46fa3cc9EBF8aB230aBAc664E37F2966Bf7971',
    '0xc00eb3c7aD1aE986A7f05F5A9d71aCa39c763C65',
  ],
  42220: ['0x6870aA9f66C1e5Efe8Dbe8730e86E9e91f688275', undefined, undefined],
  42793: ['0x997a79c3C04c5B9eb27d343ae126bcCFb5D74781', undefined, undefined],
  43111: ['0x8e52179BeB18E882040b01632440d8Ca0f01da82', undefined, undefined],
  57073: ['0xd3f39505d0c48AFED3549D625982FdC38Ea9904b', undefined, undefined],
  59144: [
    '0xA148a8223B622A72dC36472DE1492aBb5c089BA7',
    '0x5DC11CF8BA4C39d1194F91218D35008d9F52A5d0',
    '0x122Ea8ff8888C29F8736665d576e3fAEF15D27D5',
  ],
  98866: [
    '0x2525D453D9BA13921D5aB5D8c12F9202b0e19456',
    '0x4f0a370bb367843CFd914c4d9972523aD2f8FCc9',
    '0x60d3184BDD31BAE7De973894B3bA0b3B6900B79a',
  ],
  200901: ['0xb95De4a9C81Ba6240378F383f88592d30937d048', undefined, undefined],
  534352: ['0x56b65742ade55015e6480959808229Ad6dbc9295', undefined, undefined],
  685689: [undefined, '0xe2558155AEcEF57cAADB98e39b0538ab0ae95693', '0xdaE77f687883D656Aa4dc7fF89c0c891510C61A5'],
  747474: [
    '0x1c8De6889acee12257899BFeAa2b7e534de32E16',
    '0xFcb8b57E56787bB29e130Fca67f3c5a1232975D1',
    '0xA9132a09838fD20304dF2B2892679d06A4cc6371',
  ],
  21000000: ['0xe430821595602eA5DD0cD350f86987437c7362fA', undefined, undefined],
  123420001114: ['0x3F4b9246b7Cd3F7671c70BeBd5AAFC08e5bb5f16', undefined, undefined],
}

/** Vaults and registries by chain id. */
export const VAULT_ENTRIES: ReadonlyMap<number, readonly VaultEntry[]> = new Map(
  [...new Set([...Object.keys(VAULT_ROWS), ...Object.keys(MORPHO_ROWS)])].map((text) => {
    const id = Number(text)
    const registries = (MORPHO_ROWS[id] ?? []).flatMap((address, index): VaultEntry[] => {
      const kind = REGISTRY_KINDS[index]
      return address === undefined || kind === undefined ? [] : [{ address, kind }]
    })
    const vaults = (VAULT_ROWS[id] ?? []).map(([, address, , kind = 'erc4626']) => ({ address, kind }))
    return [id, [...vaults, ...registries]]
  }),
)

/** The entries, and vaults that a caller names and that are not among them. */
export function addNamed<Entry extends VaultEntry>(
  entries: readonly Entry[],
  named: readonly Address[] = [],
): readonly (Entry | VaultEntry)[] {
  const known = new Set(entries.map(({ address }) => address))
  return [
    ...entries,
    ...named.filter((address) => !known.has(address)).map((address) => ({ address, kind: NAMED }) as const),
  ]
}
