// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// Asks lenses many questions in one `eth_call`. All of them stand at their addresses for the length of that call.
///
/// The call data is u8 number of questions and, for each, u32 length and as many bytes: u8 number of its lens, and what
/// the lens is called with. The answer is, for each question from the first one on: u8 1 if the lens answered, 0 if it
/// reverted, or 2 if want of gas may be why it said nothing; u32 length and as many bytes. It ends early before gas or
/// room could run out.
///
/// Each question is asked in a frame that reverts, so that what one of them changes (a market that accrues its
/// interest) is undone before the next one. The gas that is left is shared evenly among the questions that are left, but
/// none gets less than the minimum.
contract Lens {
    /// Where `bundle.ts` puts a lens. In a bundle it is the first one, and the others stand at the addresses after it.
    address private constant FIRST_LENS = 0x77616c6C657473636F70652D2D2D2D2D2d6C656E;
    /// What a question finds at least. Nodes allow 50 million, and a question takes less than one as a rule.
    uint256 private constant GAS_MIN = 22_000_000;
    /// No further question is asked after so many bytes of answers.
    uint256 private constant ANSWERS_BYTES_MAX = 1_000_000;

    fallback() external {
        if (msg.sender == address(this)) ask();
        askAll();
    }

    /// Reverts with u8 1 or 0, and what the lens returned or reverted with.
    function ask() private {
        assembly {
            let lens := add(FIRST_LENS, shr(248, calldataload(0)))
            let size := sub(calldatasize(), 1)
            calldatacopy(0, 1, size)
            let ok := call(gas(), lens, 0, 0, size, 0, 0)
            mstore8(0, ok)
            returndatacopy(1, 0, returndatasize())
            revert(0, add(returndatasize(), 1))
        }
    }

    function askAll() private {
        assembly {
            let to := 0
            let left := shr(248, calldataload(0))
            for { let from := 1 } lt(from, calldatasize()) { left := sub(left, 1) } {
                if or(lt(gas(), GAS_MIN), gt(to, ANSWERS_BYTES_MAX)) { break }
                let length := shr(224, calldataload(from))
                // The question stands where its answer comes to stand.
                calldatacopy(to, add(from, 4), length)
                from := add(add(from, 4), length)
                let share := div(gas(), left)
                if lt(share, GAS_MIN) { share := GAS_MIN }
                pop(call(share, address(), 0, to, length, 0, 0))
                switch lt(returndatasize(), 2)
                case 1 {
                    // Gas ran out in the frame, or in the lens.
                    mstore(to, shl(248, 2))
                    to := add(to, 5)
                }
                default {
                    let size := sub(returndatasize(), 1)
                    mstore(add(to, 1), shl(224, size))
                    returndatacopy(to, 0, 1)
                    returndatacopy(add(to, 5), 1, size)
                    to := add(add(to, 5), size)
                }
            }
            return(0, to)
        }
    }
}
