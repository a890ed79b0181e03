// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../../chain/call/page.sol';
import {Prices, PriceSources} from '../../finance/price/prices.sol';
import {Tokens} from '../../finance/token/tokens.sol';

/// Shared by all lenses that answer liquidity positions. Tokens and pools are numbered in order of appearance, from 0,
/// and appear before their first use:
///
///   1 token   as in `tokens.sol`, and what is said about its price, as in `prices.sol`
abstract contract Positions is LensPage, Tokens, Prices {
    uint256 internal constant POSITIONS_MAX = 512;
    /// A page ends where it has met so many.
    uint256 internal constant POOLS_MAX = 512;
    /// What one position with a new pool and two new hostile tokens can burn, without their prices.
    uint256 private constant POSITION_GAS = 1_200_000;
    /// The longest records that one position can cause.
    uint256 private constant POSITION_BYTES_MAX = 2_200;

    /// What the page has met so far.
    struct Numbers {
        uint256 tokenTable;
        uint256 tokenCount;
        uint256 poolTable;
        uint256 poolCount;
        /// Slots of each table but one.
        uint256 mask;
        /// What there must be, besides a token's price, to finish the position that the token is of.
        uint256 gasDue;
    }

    /// Tables for so many pools at most: for no more than needed, since memory costs by its square.
    function openNumbers(uint256 pools) internal pure returns (Numbers memory numbers) {
        // A power of two, at least twice the tokens that so many pools can have.
        uint256 slots = 8;
        while (slots < 4 * pools) slots *= 2;
        numbers.mask = slots - 1;
        numbers.tokenTable = reserve(slots * 32);
        numbers.poolTable = reserve(slots * 32);
    }

    /// What there must be for one more position, without the prices of tokens that are new with it: few positions have
    /// such tokens, and few of these have a price that takes much.
    struct Limits {
        uint256 gasDue;
        /// Longest answer that leaves room for it.
        uint256 bytesMax;
    }

    /// Allocates, so the page must not have begun.
    function computeLimits(uint256 bytesMax) internal pure returns (Limits memory limits) {
        limits.gasDue = POSITION_GAS;
        limits.bytesMax = bytesMax > POSITION_BYTES_MAX ? bytesMax - POSITION_BYTES_MAX : 0;
    }

    /// Whether gas, bytes and tables suffice for one more position.
    function room(Page memory page, Numbers memory numbers, Limits memory limits) internal view returns (bool) {
        return gasleft() >= limits.gasDue && page.cursor - page.start <= limits.bytesMax
            && numbers.poolCount != POOLS_MAX;
    }

    /// The number of a token, which is written if it is new; ends the page before its position if the gas may not be
    /// enough for its price and the rest.
    function tokenOf(
        Page memory page,
        Numbers memory numbers,
        PriceSources calldata prices,
        address token
    ) internal view returns (uint256 ordinal) {
        // The zero address is a token too.
        uint256 key = uint256(uint160(token)) + 1;
        uint256 slot;
        (slot, ordinal) = find(numbers.tokenTable, numbers.mask, key);
        if (ordinal > 0) return ordinal - 1;
        if (gasleft() < numbers.gasDue + priceGasMax(prices)) stop(page);
        ordinal = numbers.tokenCount;
        numbers.tokenCount = ordinal + 1;
        set(slot, key << 16 | ordinal + 1);
        put(page, 1, 1);
        describe(page, token);
        page.cursor = writePrice(prices, token, page.cursor);
    }

    /// Where a pool's number is kept, by 240 bits that name the pool, and its number plus one; 0 for a new one.
    function poolSlot(Numbers memory numbers, uint256 key) internal pure returns (uint256 slot, uint256 ordinal) {
        return find(numbers.poolTable, numbers.mask, key);
    }

    /// Numbers a new pool.
    function addPool(Numbers memory numbers, uint256 slot, uint256 key) internal pure returns (uint256 ordinal) {
        ordinal = numbers.poolCount;
        numbers.poolCount = ordinal + 1;
        set(slot, key << 16 | ordinal + 1);
    }

    /// Answers what stands before the checkpoint, and never returns.
    function stop(Page memory page) internal pure virtual {
        finish(page);
    }

    /// Answers, and never returns.
    function close(Page memory page) internal pure {
        page.checkpoint = page.cursor;
        finish(page);
    }

    /// A call with so many arguments: true if it answered with `sizeMin` bytes.
    function askMany(
        Page memory page,
        address target,
        bytes4 selector,
        uint256 count,
        uint256 sizeMin
    ) internal view returns (bool) {
        (bool ok, uint256 size) = askFor(page, target, selector, 4 + count * 32, CONTRACT_GAS, sizeMin);
        return ok && size >= sizeMin;
    }

    /// `room` has seen to it that there is gas.
    function beforeCall(Page memory, uint256) internal view override {}

    function find(
        uint256 table,
        uint256 mask,
        uint256 key
    ) private pure returns (uint256 slot, uint256 ordinal) {
        assembly ("memory-safe") {
            mstore(0, key)
            let i := keccak256(0, 32)
            for {} 1 { i := add(i, 1) } {
                slot := add(table, mul(and(i, mask), 32))
                let value := mload(slot)
                if iszero(value) { break }
                if eq(shr(16, value), key) {
                    ordinal := and(value, 0xffff)
                    break
                }
            }
        }
    }
}
