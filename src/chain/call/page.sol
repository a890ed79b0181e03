// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {BlockHeight} from './block_height.sol';

/// What lenses that answer a packed stream have in common: working memory, calls that nobody can abuse, and the stream.
///
/// All working memory is reserved first, so that the stream can grow behind it: nothing may allocate once it has begun.
/// Every call has a gas cap, and of its answer only so much is copied, so that a contract can say nothing worse than
/// nothing.
abstract contract LensPage is BlockHeight {
    uint256 internal constant CONTRACT_GAS = 400_000;
    uint256 internal constant TEXT_GAS = 100_000;
    uint256 private constant TEXT_BYTES_MAX = 320;
    uint256 private constant TEXT_ANSWER_BYTES_MAX = 16_384;
    uint256 private constant TEXT_MISSING = 65_535;

    struct Page {
        /// Where the stream begins, and where its next byte goes.
        uint256 start;
        uint256 cursor;
        /// Where it ends if it has to end now; 0 while there is nothing to answer.
        uint256 checkpoint;
        /// How much of what was asked for stands before the checkpoint, and where the header says so.
        uint256 taken;
        uint256 takenAt;
        /// Arguments of the next call, room for a selector and some words.
        uint256 question;
        /// What it answers.
        uint256 answer;
    }

    function reserve(uint256 size) internal pure returns (uint256 place) {
        assembly ("memory-safe") {
            place := mload(0x40)
            mstore(0x40, add(place, size))
        }
    }

    /// Begins the stream: u8 version = 1, u64 chain id, u64 block number, u64 block timestamp, bytes32 hash of the parent
    /// block, u32 taken.
    function begin(Page memory page) internal view {
        (uint256 number, bytes32 parentHash) = height();
        page.start = reserve(0);
        page.cursor = page.start;
        put(page, 1, 1);
        put(page, block.chainid, 8);
        put(page, number, 8);
        put(page, block.timestamp, 8);
        put(page, uint256(parentHash), 32);
        page.takenAt = page.cursor;
        put(page, 0, 4);
    }

    /// Answers the stream up to the checkpoint, and never returns.
    function finish(Page memory page) internal pure {
        uint256 start = page.start;
        uint256 end = page.checkpoint;
        uint256 takenAt = page.takenAt;
        uint256 taken = page.taken;
        assembly ("memory-safe") {
            if iszero(end) { revert(0, 0) }
            let rest := and(mload(takenAt), shr(32, not(0)))
            mstore(takenAt, or(shl(224, taken), rest))
            return(start, sub(end, start))
        }
    }

    /// The low `size` bytes of a value.
    function put(Page memory page, uint256 value, uint256 size) internal pure {
        assembly ("memory-safe") {
            let cursor := mload(add(page, 32))
            mstore(cursor, shl(sub(256, mul(8, size)), value))
            mstore(add(page, 32), add(cursor, size))
        }
    }

    /// A text is u16 length and the first bytes of the raw return data, length 65535 where the call failed or answered
    /// more than 16 KiB.
    function text(Page memory page, address token, bytes4 selector) internal view {
        (bool ok, uint256 size) = askFor(page, token, selector, 4, TEXT_GAS, TEXT_BYTES_MAX);
        if (!ok || size > TEXT_ANSWER_BYTES_MAX) return put(page, TEXT_MISSING, 2);
        if (size > TEXT_BYTES_MAX) size = TEXT_BYTES_MAX;
        put(page, size, 2);
        uint256 end = page.cursor + size;
        for (uint256 i = 0; i < size; i += 32) put(page, word(page.answer + i), 32);
        page.cursor = end;
    }

    /// Argument number `index` of the next call.
    function argument(Page memory page, uint256 index, uint256 value) internal pure {
        set(page.question + 4 + index * 32, value);
    }

    /// A call without arguments: true if it answered, with at least `sizeMin` bytes.
    function ask(Page memory page, address target, bytes4 selector, uint256 sizeMin) internal view returns (bool) {
        (bool ok, uint256 size) = askFor(page, target, selector, 4, CONTRACT_GAS, sizeMin);
        return ok && size >= sizeMin;
    }

    /// The same with one argument.
    function ask1(
        Page memory page,
        address target,
        bytes4 selector,
        uint256 a,
        uint256 sizeMin
    ) internal view returns (bool) {
        argument(page, 0, a);
        (bool ok, uint256 size) = askFor(page, target, selector, 36, CONTRACT_GAS, sizeMin);
        return ok && size >= sizeMin;
    }

    /// A call with a gas cap; at most `copyMax` bytes of the answer reach `page.answer`, `size` is its true length.
    function askFor(
        Page memory page,
        address target,
        bytes4 selector,
        uint256 questionSize,
        uint256 gasMax,
        uint256 copyMax
    ) internal view returns (bool ok, uint256 size) {
        beforeCall(page, gasMax);
        uint256 question = page.question;
        uint256 answer = page.answer;
        assembly ("memory-safe") {
            mstore(question, or(selector, and(mload(question), shr(32, not(0)))))
            ok := staticcall(gasMax, target, question, questionSize, answer, copyMax)
            size := returndatasize()
        }
    }

    /// May end the page while there is gas to do so.
    function beforeCall(Page memory page, uint256 gasMax) internal view virtual;

    function word(uint256 place) internal pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(place)
        }
    }

    function set(uint256 place, uint256 value) internal pure {
        assembly ("memory-safe") {
            mstore(place, value)
        }
    }
}
