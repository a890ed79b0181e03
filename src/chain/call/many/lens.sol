// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../page.sol';

/// Makes many static calls at one block. It is never deployed: its code stands at an address for the length of one
/// call, or runs as the creation code of one.
///
/// The answer is the header of `page.sol`, where taken counts calls, then for each: u8 1 if it answered, u16 length and
/// as many bytes, the first of what it returned. A page ends early before gas could run out inside a call.
contract Lens is LensPage {
    uint256 private constant CALL_GAS = 1_500_000;
    uint256 private constant ANSWER_BYTES_MAX = 8_192;
    /// What is left over to end the page.
    uint256 private constant END_GAS = 150_000;

    function read(address[] calldata targets, bytes[] calldata questions) external view {
        Page memory page;
        uint256 room = reserve(0);
        uint256 longest = 0;
        for (uint256 i = 0; i < questions.length; i++) {
            if (questions[i].length > longest) longest = questions[i].length;
        }
        room = reserve(longest + 32);
        begin(page);
        page.checkpoint = page.cursor;
        for (uint256 i = 0; i < targets.length; i++) {
            beforeCall(page, CALL_GAS);
            ask(page, targets[i], questions[i], room);
            page.checkpoint = page.cursor;
            page.taken = i + 1;
        }
        finish(page);
    }

    /// Calls and appends the answer where the stream is.
    function ask(Page memory page, address target, bytes calldata question, uint256 room) private view {
        uint256 at = page.cursor;
        bool ok;
        uint256 size;
        assembly ("memory-safe") {
            calldatacopy(room, question.offset, question.length)
            ok := staticcall(CALL_GAS, target, room, question.length, 0, 0)
            size := returndatasize()
            if gt(size, ANSWER_BYTES_MAX) { size := ANSWER_BYTES_MAX }
            returndatacopy(add(at, 3), 0, size)
            mstore8(at, ok)
            mstore8(add(at, 1), shr(8, size))
            mstore8(add(at, 2), size)
        }
        page.cursor = at + 3 + size;
    }

    /// Where there is less gas than the cap, what fails could have failed for want of gas: the page ends instead.
    function beforeCall(Page memory page, uint256 gasMax) internal view override {
        if (gasleft() < gasMax + gasMax / 32 + END_GAS) finish(page);
    }
}
