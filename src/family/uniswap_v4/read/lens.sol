// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {Positions} from '../../liquidity/positions.sol';
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
/// many positions the wallet owns by its `balanceOf`, and records:
///
///   1 token   as in `positions.sol`; the native token is the zero address
///   2 pool    bytes32 id, u16 token0, u16 token1, u24 fee of the key, i24 tickSpacing, address hooks, u160 sqrtPriceX96,
///             i24 tick, u24 protocolFee, u24 lpFee, u256 feeGrowthGlobal0X128, u256 feeGrowthGlobal1X128
///   3 broken  u16 index of the id, u8 what failed: 1 position, 2 pool
///   4 open    u16 index of the id, u16 pool, i24 tickLower, i24 tickUpper, u128 liquidity, u256
///             feeGrowthInside0LastX128, u256 feeGrowthInside1LastX128, then feeGrowthOutside0X128, feeGrowthOutside1X128
///             of the lower and of the upper tick
///   5 closed  like 4 up to tickUpper: it has no liquidity, and nothing is ever owed to it
///   6 owner   address: of the next position, where those of any owner are asked for, before its other records
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
    /// Length of the record of an owner.
    uint256 private constant OWNER_BYTES = 21;

    /// Ids that are asked about: how many, the bytes of each, and where they stand in the call data.
    struct Ids {
        uint256 count;
        uint256 size;
        uint256 at;
    }

    struct Managers {
        address positions;
        address pools;
    }

    /// Where positions are, and what of them was met. Pools are numbered by 200 bits of their ids, which are hashes.
    struct Asked {
        address positions;
        address pools;
        Numbers numbers;
        /// By number of a pool, the slot where its state begins.
        uint256 poolList;
        /// Where the slots of a position's words are set, and then those words are.
        uint256 words;
    }

    /// Writes those of the ids that the wallet owns, in their order. Each id has `idBytes` bytes.
    function list(
        address wallet,
        bytes calldata ids,
        uint256 idBytes,
        Managers calldata managers,
        PriceSources calldata prices,
        uint256 bytesMax
    ) external view {
        (Page memory page, Asked memory asked, Ids memory wanted, Limits memory limits) = openIds(
            managers,
            ids,
            idBytes,
            bytesMax
        );
        presence(page, asked, ask1(page, asked.positions, IPositionManager.balanceOf.selector, uint160(wallet), 32));
        put(page, word(page.answer), 32);
        page.checkpoint = page.cursor;
        page.taken = positionsOf(page, asked, prices, wallet, wanted, limits);
        end(page);
    }

    /// Writes the positions that the wallet owns; returns the number of ids done. The work of each id is unchecked.
    function positionsOf(
        Page memory page,
        Asked memory asked,
        PriceSources calldata prices,
        address wallet,
        Ids memory ids,
        Limits memory limits
    ) private view returns (uint256 i) {
        if (wallet == address(0)) return ids.count;
        unchecked {
            uint256 cursorMax = page.start + limits.bytesMax;
            for (uint256 at = ids.at; i < ids.count; i++) {
                // There are never more pools than positions, so the tables suffice.
                if (gasleft() < limits.gasDue || page.cursor > cursorMax) break;
                uint256 id = idAt(at, ids.size);
                at += ids.size;
                if (ownerOf(asked, id) != uint160(wallet)) continue;
                page.taken = i;
                page.checkpoint = page.cursor;
                position(page, asked, prices, i, id);
            }
        }
    }

    /// Writes the positions of the ids, of any owner. Each id has `idBytes` bytes.
    function named(
        bytes calldata ids,
        uint256 idBytes,
        Managers calldata managers,
        PriceSources calldata prices,
        uint256 bytesMax
    ) external view {
        (Page memory page, Asked memory asked, Ids memory wanted, Limits memory limits) = openIds(
            managers,
            ids,
            idBytes,
            bytesMax
        );
        presence(page, asked, ask1(page, asked.positions, IPositionManager.balanceOf.selector, uint160(address(this)), 32));
        put(page, 0, 32);
        for (; page.taken < wanted.count; page.taken++) {
            bool fits = page.cursor + OWNER_BYTES <= page.start + limits.bytesMax;
            if (!fits || gasleft() < limits.gasDue) break;
            page.checkpoint = page.cursor;
            uint256 id = idAt(wanted.at, wanted.size);
            wanted.at += wanted.size;
            uint256 owner = ownerOf(asked, id);
            if (owner == 0) continue;
            put(page, 6, 1);
            put(page, owner, 20);
            position(page, asked, prices, page.taken, id);
        }
        end(page);
    }

    /// Begins a page about ids.
    function openIds(
        Managers calldata managers,
        bytes calldata ids,
        uint256 idBytes,
        uint256 bytesMax
    ) private view returns (Page memory page, Asked memory asked, Ids memory wanted, Limits memory limits) {
        uint256 count = ids.length / idBytes;
        if (count > POSITIONS_MAX) count = POSITIONS_MAX;
        (page, asked) = open(managers, count);
        limits = computeLimits(bytesMax);
        asked.numbers.gasDue = limits.gasDue;
        wanted = Ids(count, idBytes, offsetOf(ids));
        begin(page);
    }

    /// Answers, and never returns.
    function end(Page memory page) private pure {
        put(page, 0, 1);
        close(page);
    }

    /// Ends the list before the position that is being read.
    function stop(Page memory page) internal pure override {
        if (page.checkpoint == 0) finish(page);
        page.cursor = page.checkpoint;
        end(page);
    }

    function presence(Page memory page, Asked memory asked, bool answered) private view {
        if (!answered) set(page.answer, 0);
        put(page, answered ? 1 : asked.positions.code.length == 0 ? 0 : 2, 1);
    }

    /// Owner of an id; 0 without one.
    function ownerOf(Asked memory asked, uint256 id) private view returns (uint256) {
        return askWord(asked.positions, IPositionManager.ownerOf.selector, id);
    }

    /// A contract's answer to a call with an id; 0 if it does not answer. Every position needs two such calls.
    function askWord(address target, bytes4 selector, uint256 id) private view returns (uint256 value) {
        assembly ("memory-safe") {
            mstore(0, selector)
            mstore(4, id)
            let ok := staticcall(CONTRACT_GAS, target, 0, 36, 0, 32)
            if and(ok, gt(returndatasize(), 31)) { value := mload(0) }
        }
    }

    /// Writes the records of a position.
    function position(
        Page memory page,
        Asked memory asked,
        PriceSources calldata prices,
        uint256 index,
        uint256 id
    ) private view {
        uint256 info = askWord(asked.positions, IPositionManager.positionInfo.selector, id);
        if (info == 0) return broken(page, index, 1);
        (uint256 slot, uint256 ordinal) = poolAt(asked.numbers, info >> 56);
        if (ordinal == 0) ordinal = newPool(page, asked, prices, info >> 56, slot);
        if (ordinal == 0) return broken(page, index, 2);
        unchecked {
            ordinal--;
            uint256 words = asked.words;
            setSlots(words, asked.positions, word(asked.poolList + ordinal * 32), id, info);
            if (!loadWords(words, asked.pools)) return broken(page, index, 2);
            record(page, index, ordinal, info, words);
        }
    }

    /// Puts the words of a position in the place of their slots; false if the manager does not give them.
    function loadWords(uint256 words, address pools) private view returns (bool ok) {
        bytes4 selector = IPoolManager.extsload.selector;
        assembly ("memory-safe") {
            mstore(sub(words, 68), selector)
            mstore(sub(words, 64), 32)
            mstore(sub(words, 32), WORDS)
            ok := staticcall(CONTRACT_GAS, pools, sub(words, 68), 292, sub(words, 64), 288)
            ok := and(ok, gt(returndatasize(), 287))
            ok := and(ok, eq(mload(sub(words, 64)), 32))
            ok := and(ok, eq(mload(sub(words, 32)), WORDS))
        }
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

    /// Sets the slots of a position's words; `base` is where its pool begins.
    function setSlots(uint256 at, address owner, uint256 base, uint256 id, uint256 info) private pure {
        assembly ("memory-safe") {
            // The lowest byte says whether there is a subscriber.
            let lower := signextend(2, shr(8, info))
            let upper := signextend(2, shr(32, info))
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

    /// The number of a pool plus one, by 200 bits of its id; 0 for a new one, which is to be numbered in `slot`.
    function poolAt(Numbers memory numbers, uint256 prefix) private pure returns (uint256 slot, uint256 ordinal) {
        assembly ("memory-safe") {
            let table := mload(add(numbers, 64))
            let mask := mload(add(numbers, 128))
            for { let i := prefix } 1 { i := add(i, 1) } {
                slot := add(table, shl(5, and(i, mask)))
                ordinal := mload(slot)
                if eq(shr(16, ordinal), prefix) { break }
                if iszero(ordinal) { break }
            }
            ordinal := and(ordinal, 0xffff)
        }
    }

    /// Numbers and writes a new pool, by 200 bits of its id; 0 if it cannot be read, else its number plus one.
    function newPool(
        Page memory page,
        Asked memory asked,
        PriceSources calldata prices,
        uint256 prefix,
        uint256 slot
    ) private view returns (uint256 ordinal) {
        if (!ask1(page, asked.positions, IPositionManager.poolKeys.selector, prefix << 56, 160)) return 0;
        uint256 key = page.answer;
        uint256 id = keyHash(key);
        if (id >> 56 != prefix) return 0;
        // What is asked next must not overwrite the key.
        page.answer = key + 160;
        uint256 base = mappingSlot(id, POOLS_SLOT);
        argument(page, 2, base);
        argument(page, 3, base + 1);
        argument(page, 4, base + 2);
        bool ok = load(page, asked, 3);
        uint256 words = page.answer + 64;
        page.answer = words + 96;
        if (ok && uint160(word(words)) != 0) {
            ordinal = addPool(asked.numbers, slot, prefix);
            set(asked.poolList + ordinal * 32, base);
            uint256 ordinal0 = tokenOf(page, asked.numbers, prices, address(uint160(word(key))));
            uint256 ordinal1 = tokenOf(page, asked.numbers, prices, address(uint160(word(key + 32))));
            writePool(page, key, words, ordinal0 << 16 | ordinal1);
            ordinal++;
        }
        page.answer = key;
    }

    function writePool(Page memory page, uint256 key, uint256 words, uint256 ordinals) private pure {
        assembly ("memory-safe") {
            function low(value, bits) -> masked {
                masked := and(value, sub(shl(bits, 1), 1))
            }
            let cursor := mload(add(page, 32))
            mstore8(cursor, 2)
            mstore(add(cursor, 1), keccak256(key, 160))
            let row := or(shl(224, ordinals), shl(200, low(mload(add(key, 64)), 24)))
            row := or(row, shl(176, low(mload(add(key, 96)), 24)))
            mstore(add(cursor, 33), or(row, shl(16, low(mload(add(key, 128)), 160))))
            let slot0 := mload(words)
            row := or(shl(96, slot0), shl(72, low(shr(160, slot0), 24)))
            row := or(row, shl(48, low(shr(184, slot0), 24)))
            mstore(add(cursor, 63), or(row, shl(24, low(shr(208, slot0), 24))))
            mstore(add(cursor, 92), mload(add(words, 32)))
            mstore(add(cursor, 124), mload(add(words, 64)))
            mstore(add(page, 32), add(cursor, 156))
        }
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
        asked.words = reserve(320) + 96;
    }

    /// The id of so many bytes in the call data.
    function idAt(uint256 place, uint256 size) private pure returns (uint256 id) {
        assembly ("memory-safe") {
            id := shr(sub(256, shl(3, size)), calldataload(place))
        }
    }

    function offsetOf(bytes calldata bytesAt) private pure returns (uint256 place) {
        assembly ("memory-safe") {
            place := bytesAt.offset
        }
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
