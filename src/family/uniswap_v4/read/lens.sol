// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {Positions} from '../../../finance/liquidity/positions.sol';
import {PriceSources} from '../../../finance/price/prices.sol';

interface IPositionManager {
    function balanceOf(address) external view;
    function ownerOf(uint256) external view;
    function positionInfo(uint256) external view;
    function poolKeys(bytes25) external view;
}

interface IPoolManager {
    function extsload(bytes32[] calldata) external view;
}

/// Reads Uniswap V4 positions, their pools, tokens and USD prices in one `eth_call`. It is never deployed: its code stands
/// at an address for the length of one call, or runs as the creation code of one.
///
/// The answer is a packed stream, big-endian, without padding; `abi.ts` decodes it. It is the header of `page.sol`, where
/// taken counts ids of the question, then u8 what the position manager is (0 no code, 1 it answered, 2 silent), u256 how
/// many positions it says that the wallet owns, and records:
///
///   1 token   as in `positions.sol`; the native token is the zero address
///   2 pool    bytes32 id, u16 token0, u16 token1, u24 fee of the key, i24 tickSpacing, address hooks, u160 sqrtPriceX96,
///             i24 tick, u24 protocolFee, u24 lpFee, u256 feeGrowthGlobal0X128, u256 feeGrowthGlobal1X128
///   3 broken  u16 index of the id, u8 what failed: 1 position, 2 pool
///   4 open    u16 index of the id, u16 pool, i24 tickLower, i24 tickUpper, u128 liquidity, u256
///             feeGrowthInside0LastX128, u256 feeGrowthInside1LastX128, then feeGrowthOutside0X128, feeGrowthOutside1X128
///             of the lower and of the upper tick
///   5 closed  like 4 up to tickUpper: it has no liquidity, and nothing is ever owed to it
///   6 owner   address: of the one position that was asked about, before its other records
///   0 end     nothing follows
///
/// Ids that the wallet does not own have no record. A page ends early, and says so by `taken`, before gas or `bytesMax`
/// could run out in the middle of a record.
contract Lens is Positions {
    /// Of the mapping `_pools` in PoolManager, and of the members of its values.
    uint256 private constant POOLS_SLOT = 6;
    uint256 private constant TICKS_OFFSET = 4;
    uint256 private constant POSITIONS_OFFSET = 6;
    /// Words of one position: its own three, and two of each tick.
    uint256 private constant WORDS = 7;

    struct Managers {
        address positions;
        address pools;
    }

    /// Where positions are, and what of them was met.
    struct Asked {
        address positions;
        address pools;
        Numbers numbers;
        /// By number of a pool, the slot where its state begins.
        uint256 poolList;
    }

    /// Those of these ids that the wallet owns, in their order.
    function list(
        address wallet,
        uint256[] calldata ids,
        Managers calldata managers,
        PriceSources calldata prices,
        uint256 bytesMax
    ) external view {
        (Page memory page, Asked memory asked) = open(managers, ids.length < POSITIONS_MAX ? ids.length : POSITIONS_MAX);
        Limits memory limits = limitsOf(prices, bytesMax);
        begin(page);
        presence(page, asked, ask1(page, asked.positions, IPositionManager.balanceOf.selector, uint160(wallet), 32));
        put(page, word(page.answer), 32);
        for (uint256 i = 0; i < ids.length && i < POSITIONS_MAX; i++) {
            if (!room(page, asked.numbers, limits)) break;
            uint256 id = ids[i];
            if (ownerOf(page, asked, id) == wallet && wallet != address(0)) position(page, asked, prices, i, id);
            page.taken++;
        }
        end(page);
    }

    /// The position of one id, whoever owns it; no record if nobody does.
    function one(uint256 id, Managers calldata managers, PriceSources calldata prices) external view {
        (Page memory page, Asked memory asked) = open(managers, 1);
        begin(page);
        presence(page, asked, ask1(page, asked.positions, IPositionManager.balanceOf.selector, uint160(address(this)), 32));
        put(page, 0, 32);
        address owner = ownerOf(page, asked, id);
        if (owner != address(0)) {
            put(page, 6, 1);
            put(page, uint160(owner), 20);
            position(page, asked, prices, 0, id);
        }
        page.taken = 1;
        end(page);
    }

    /// Answers, and never returns.
    function end(Page memory page) private pure {
        put(page, 0, 1);
        close(page);
    }

    function presence(Page memory page, Asked memory asked, bool answered) private view {
        if (!answered) set(page.answer, 0);
        put(page, answered ? 1 : asked.positions.code.length == 0 ? 0 : 2, 1);
    }

    /// The zero address if nobody owns it.
    function ownerOf(Page memory page, Asked memory asked, uint256 id) private view returns (address) {
        if (!ask1(page, asked.positions, IPositionManager.ownerOf.selector, id, 32)) return address(0);
        return address(uint160(word(page.answer)));
    }

    /// Writes the records of a position.
    function position(
        Page memory page,
        Asked memory asked,
        PriceSources calldata prices,
        uint256 index,
        uint256 id
    ) private view {
        if (!ask1(page, asked.positions, IPositionManager.positionInfo.selector, id, 32)) return broken(page, index, 1);
        uint256 info = word(page.answer);
        if (info == 0) return broken(page, index, 1);
        (bool ok, uint256 ordinal) = poolOf(page, asked, prices, info);
        if (!ok) return broken(page, index, 2);
        setSlots(page.question, asked, word(asked.poolList + ordinal * 32), id, info);
        if (!load(page, asked, WORDS)) return broken(page, index, 2);
        record(page, index, ordinal, info, page.answer + 64);
    }

    /// Writes the record of a position by its words, without loops: this is done for every position.
    function record(
        Page memory page,
        uint256 index,
        uint256 ordinal,
        uint256 info,
        uint256 words
    ) private pure {
        assembly ("memory-safe") {
            let liquidity := and(mload(words), sub(shl(128, 1), 1))
            let head := or(shl(232, index), shl(216, ordinal))
            head := or(head, or(shl(192, and(shr(8, info), 0xffffff)), shl(168, and(shr(32, info), 0xffffff))))
            let cursor := mload(add(page, 32))
            switch liquidity
            case 0 {
                mstore(cursor, or(head, shl(248, 5)))
                cursor := add(cursor, 11)
            }
            default {
                mstore(cursor, or(or(head, shl(248, 4)), shl(40, liquidity)))
                mstore(add(cursor, 27), mload(add(words, 32)))
                mstore(add(cursor, 59), mload(add(words, 64)))
                mstore(add(cursor, 91), mload(add(words, 96)))
                mstore(add(cursor, 123), mload(add(words, 128)))
                mstore(add(cursor, 155), mload(add(words, 160)))
                mstore(add(cursor, 187), mload(add(words, 192)))
                cursor := add(cursor, 219)
            }
            mstore(add(page, 32), cursor)
        }
    }

    /// Sets the slots of a position's words in the question for `load`; `base` is where its pool begins.
    function setSlots(uint256 question, Asked memory asked, uint256 base, uint256 id, uint256 info) private pure {
        uint256 owner = uint160(asked.positions);
        assembly ("memory-safe") {
            // The lowest byte says whether there is a subscriber.
            let lower := signextend(2, shr(8, info))
            let upper := signextend(2, shr(32, info))
            let at := add(question, 68)
            // The key of a position in its pool: 20 bytes, 3, 3 and 32.
            mstore(0, or(shl(96, owner), or(shl(72, and(lower, 0xffffff)), shl(48, and(upper, 0xffffff)))))
            mstore(26, id)
            mstore(0, keccak256(0, 58))
            mstore(32, add(base, POSITIONS_OFFSET))
            let slot := keccak256(0, 64)
            mstore(at, slot)
            mstore(add(at, 32), add(slot, 1))
            mstore(add(at, 64), add(slot, 2))
            mstore(0, lower)
            mstore(32, add(base, TICKS_OFFSET))
            slot := keccak256(0, 64)
            mstore(add(at, 96), add(slot, 1))
            mstore(add(at, 128), add(slot, 2))
            mstore(0, upper)
            slot := keccak256(0, 64)
            mstore(add(at, 160), add(slot, 1))
            mstore(add(at, 192), add(slot, 2))
        }
    }

    /// Asks for the words whose slots are set, from argument 2 on; they begin 64 bytes behind `page.answer`.
    function load(Page memory page, Asked memory asked, uint256 count) private view returns (bool) {
        argument(page, 0, 32);
        argument(page, 1, count);
        uint256 size = 64 + count * 32;
        return askMany(page, asked.pools, IPoolManager.extsload.selector, 2 + count, size)
            && word(page.answer) == 32 && word(page.answer + 32) == count;
    }

    /// The number of the position's pool, which is written if it is new.
    function poolOf(
        Page memory page,
        Asked memory asked,
        PriceSources calldata prices,
        uint256 info
    ) private view returns (bool ok, uint256 ordinal) {
        // The first 25 bytes of the pool's id.
        uint256 prefix = info >> 56;
        uint256 slot;
        (slot, ordinal) = poolSlot(asked.numbers, prefix);
        if (ordinal > 0) return (true, ordinal - 1);
        if (!ask1(page, asked.positions, IPositionManager.poolKeys.selector, prefix << 56, 160)) return (false, 0);
        uint256 key = page.answer;
        uint256 id = keyHash(key);
        if (id >> 56 != prefix) return (false, 0);
        // What is asked next must not overwrite the key.
        page.answer = key + 160;
        uint256 base = mappingSlot(id, POOLS_SLOT);
        argument(page, 2, base);
        argument(page, 3, base + 1);
        argument(page, 4, base + 2);
        ok = load(page, asked, 3);
        uint256 words = page.answer + 64;
        page.answer = words + 96;
        ok = ok && uint160(word(words)) != 0;
        if (ok) {
            ordinal = addPool(asked.numbers, slot, prefix);
            set(asked.poolList + ordinal * 32, base);
            writePool(page, asked, prices, key, words);
        }
        page.answer = key;
    }

    function writePool(
        Page memory page,
        Asked memory asked,
        PriceSources calldata prices,
        uint256 key,
        uint256 words
    ) private view {
        uint256 ordinal0 = tokenOf(page, asked.numbers, prices, address(uint160(word(key))));
        uint256 ordinal1 = tokenOf(page, asked.numbers, prices, address(uint160(word(key + 32))));
        uint256 slot0 = word(words);
        put(page, 2, 1);
        put(page, keyHash(key), 32);
        put(page, ordinal0, 2);
        put(page, ordinal1, 2);
        put(page, word(key + 64), 3);
        put(page, word(key + 96), 3);
        put(page, word(key + 128), 20);
        put(page, slot0, 20);
        put(page, slot0 >> 160, 3);
        put(page, slot0 >> 184, 3);
        put(page, slot0 >> 208, 3);
        put(page, word(words + 32), 32);
        put(page, word(words + 64), 32);
    }

    function broken(Page memory page, uint256 index, uint256 what) private pure {
        put(page, 3, 1);
        put(page, index, 2);
        put(page, what, 1);
    }

    function open(Managers calldata managers, uint256 positions) private pure returns (Page memory page, Asked memory asked) {
        page.question = reserve(320);
        // A key, the words of a pool and the texts of its tokens stand one behind the other.
        page.answer = reserve(736);
        asked.positions = managers.positions;
        asked.pools = managers.pools;
        asked.numbers = openNumbers(positions);
        asked.poolList = reserve(positions * 32);
    }

    function keyHash(uint256 key) private pure returns (uint256 id) {
        assembly ("memory-safe") {
            id := keccak256(key, 160)
        }
    }

    function mappingSlot(uint256 key, uint256 slot) private pure returns (uint256 place) {
        assembly ("memory-safe") {
            mstore(0, key)
            mstore(32, slot)
            place := keccak256(0, 64)
        }
    }
}
