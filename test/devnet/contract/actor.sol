// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

interface IApprove {
    function approve(address spender, uint256 value) external returns (bool);
}

/// Executes the given calls in one transaction, and takes flash loans: an adapter that wallets let spend
/// their aTokens, or a contract wallet. What it borrowed in a flash loan it lets the Pool take back.
contract Actor {
    struct Call {
        address target;
        bytes data;
    }

    receive() external payable {}

    function run(Call[] calldata calls) external payable {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool ok, bytes memory reason) = calls[i].target.call(calls[i].data);
            if (!ok) {
                assembly ("memory-safe") {
                    revert(add(reason, 32), mload(reason))
                }
            }
        }
    }

    /// The Pool's call in the middle of `flashLoan`.
    function executeOperation(
        address[] calldata assets,
        uint256[] calldata amounts,
        uint256[] calldata premiums,
        address,
        bytes calldata
    ) external returns (bool) {
        for (uint256 i = 0; i < assets.length; i++) IApprove(assets[i]).approve(msg.sender, amounts[i] + premiums[i]);
        return true;
    }

    /// The Pool's call in the middle of `flashLoanSimple`.
    function executeOperation(
        address asset,
        uint256 amount,
        uint256 premium,
        address,
        bytes calldata
    ) external returns (bool) {
        IApprove(asset).approve(msg.sender, amount + premium);
        return true;
    }
}
