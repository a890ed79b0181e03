import { concatHex, type Hex, keccak256, numberToHex, padHex } from 'viem'

/** Places of a contract's storage that are tried for its map of balances. */
const PLACES = 64
/** `ERC20Upgradeable` of OpenZeppelin 5, ERC-7201: the map of balances. */
const OPENZEPPELIN: Hex = '0x52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace00'
/** `ERC20` of Solady: `_BALANCE_SLOT_SEED`. */
const SOLADY: Hex = '0x000000000000000087a211a2'

/**
 * Lists the storage slots in which a token may keep the balance of a holder: maps of Solidity and of Vyper, and two
 * libraries of their own kind. That one is right shows only if the token then answers the balance.
 */
export function listBalanceSlots(holder: Hex): Hex[] {
  const key = padHex(holder, { size: 32 })
  const places = Array.from({ length: PLACES }, (_, place) => numberToHex(place, { size: 32 }))
  return [
    ...places.map((place) => keccak256(concatHex([key, place]))),
    ...places.map((place) => keccak256(concatHex([place, key]))),
    keccak256(concatHex([key, OPENZEPPELIN])),
    keccak256(concatHex([holder, SOLADY])),
  ]
}
