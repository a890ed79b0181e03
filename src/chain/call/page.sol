// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {BlockHeight} from './block_height.sol';

/// Base of the lenses that answer a packed stream: working memory, calls with limits, and the stream.
///
/// All working memory is reserved first, because the stream grows after it: nothing may allocate once the stream has
/// begun. Every call has a gas cap and a limit on the bytes that are copied, so that a hostile contract can use up
/// neither gas nor memory.
abstract contract LensPage is BlockHeight {
    uint256 internal constant CONTRACT_GAS = 400_000;
    uint256 internal constant TEXT_GAS = 100_000;
    uint256 private constant TEXT_BYTES_MAX = 320;
    uint256 private constant TEXT_ANSWER_BYTES_MAX = 16_384;
    uint256 private constant TEXT_MISSING = 65_535;

    struct Page {
        /// Address in memory of the stream's first byte, and of the next byte to write.
        uint256 start;
        uint256 cursor;
        /// End of the stream if it has to end now; 0 while there is nothing to answer.
        uint256 checkpoint;
        /// Entries answered before the checkpoint, and the address in memory of that number in the header.
        uint256 taken;
        uint256 takenAt;
        /// Call data of the next call: room for a selector and some words.
        uint256 question;
        /// First bytes of its return data.
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

    /// Returns the stream up to the checkpoint and ends the call.
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

    /// Appends the low `size` bytes of a value.
    function put(Page memory page, uint256 value, uint256 size) internal pure {
        assembly ("memory-safe") {
            let cursor := mload(add(page, 32))
            mstore(cursor, shl(sub(256, mul(8, size)), value))
            mstore(add(page, 32), add(cursor, size))
        }
    }

    /// Appends a text: u16 length and the first bytes of the raw return data. The length is 65535 if the call failed or
    /// answered more than 16 KiB.
    function text(Page memory page, address token, bytes4 selector) internal view {
        (bool ok, uint256 size) = askFor(page, token, selector, 4, TEXT_GAS, TEXT_BYTES_MAX);
        if (!ok || size > TEXT_ANSWER_BYTES_MAX) return put(page, TEXT_MISSING, 2);
        if (size > TEXT_BYTES_MAX) size = TEXT_BYTES_MAX;
        put(page, size, 2);
        uint256 end = page.cursor + size;
        for (uint256 i = 0; i < size; i += 32) put(page, word(page.answer + i), 32);
        page.cursor = end;
    }

    /// Sets argument number `index` of the next call.
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

    /// A call with a gas cap. At most `copyMax` bytes of the answer are copied to `page.answer`; `size` is its full
    /// length.
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

    /// Ends the page here if there may not be enough gas for the call.
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
